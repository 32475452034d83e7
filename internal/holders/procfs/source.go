// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"context"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Sources returns the sources for the processes, for Podman's containers and for CRI-O's.
// They share one scan of /proc, which the first Look makes with its question; another
// scan needs other Sources. devices are those of the node's GPUs.
func (p *Proc) Sources(devices holders.Devices) []Source {
	s := &scan{proc: p, devices: devices}
	if devices.Real() {
		s.cards = devices.Cards()
	}
	return []Source{{s, usage.Processes}, {s, podman}, {s, crio}}
}

// Source is the source for processes, or for the containers of one engine without a
// daemon.
type Source struct {
	*scan
	name string
}

// Name returns the engine or usage.Processes.
func (s Source) Name() (engine, endpoint string) { return s.name, "" }

// Look returns the processes or the containers. Beside an error it returns what it could
// see. The error is an fs.ErrPermission where this user may not inspect some of them, and
// usage.ErrUnfinished where the context ended the scan.
func (s Source) Look(ctx context.Context, q usage.Question) (usage.Sight, error) {
	if s.name == usage.Processes {
		return s.lookAtProcesses(ctx, q)
	}
	return s.lookAtContainers(ctx, q, s.name)
}

// initialNamespace is the inode of the pid namespace that has all processes of the host, in
// every Linux since 3.8.
const initialNamespace = 0xEFFFFFFC

// Progress grows while the scan goes on.
func (r *scan) Progress() uint64 { return r.progress.Load() }

// lookAtProcesses returns the processes that have device files of GPUs open, without our
// own. Where the state file is lost it returns the clients instead, and where the question
// names the kernel's lists of all GPUs, what these say.
func (r *scan) lookAtProcesses(ctx context.Context, q usage.Question) (usage.Sight, error) {
	namespace, _ := r.proc.namespace() // 0 where it is not known
	if lists, ok := r.readLists(q.Lists); ok {
		return usage.Sight{Lists: lists, PIDNamespace: namespace, Partial: true}, nil
	}
	list := r.cachedProcesses(ctx, q)
	if q.Lost {
		err := incompleteError(list.err, list.hidden, list.refused)
		return usage.Sight{Claimants: list.claimants, Partial: err != nil}, err
	}
	before := r.allLists()
	found := r.cachedOpenDevices(ctx, q)
	err := incompleteError(found.err, list.hidden, list.refused+found.refused)
	return usage.Sight{
		Processes: found.processes, Read: found.read, PIDNamespace: namespace, Partial: err != nil,
		Lists: r.checkLists(ctx, before, found.processes, err == nil && namespace == initialNamespace),
	}, err
}
