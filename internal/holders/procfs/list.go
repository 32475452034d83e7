// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// processList is the result of the first pass.
type processList struct {
	processes []process // ascending by pid
	monitors  []monitor
	claimants []usage.Claimant // ascending by pid
	hidden    bool             // /proc does not even show the processes of others
	refused   int              // processes whose name this user may not read
	err       error
}

// process is a process other than our own.
type process struct {
	pid     int
	name    string // the pid as /proc writes it
	command string // the kernel's short name for it
	// skip is true for a process that has ended, may not be read, or is an engine's.
	skip     bool
	refused  bool
	becomes  bool // it was about to become another program when the look ended
	monitor  *monitor
	claimant *usage.Claimant
}

// maxCommand is how many bytes of a command line are read; the labels of a lease are at
// its beginning.
const maxCommand = 128 << 10

// listProcesses makes the first pass.
func (r *scan) listProcesses(ctx context.Context, q usage.Question) (list processList) {
	dir, err := r.proc.openProc()
	if err != nil {
		return processList{err: err}
	}
	defer closeFD(dir)
	pids, err := processNames(dir)
	if err != nil {
		return processList{err: fmt.Errorf("list %s: %w", r.proc.dir, err)}
	}
	list.hidden = !slices.Contains(pids, "1")
	self, _ := os.Readlink(r.proc.dir + "/self")          // without it we count as any other process
	mounts, _ := os.Readlink(r.proc.dir + "/self/ns/mnt") // without it no process is skipped
	for _, name := range pids {
		if pid, err := strconv.Atoi(name); err == nil && name != self {
			list.processes = append(list.processes, process{pid: pid, name: name})
		}
	}
	err = r.inParallel(ctx, dir, len(list.processes), func(w *worker, i int) { w.readName(&list.processes[i], mounts, q) })
	if err != nil {
		list.err = &unfinishedError{fmt.Sprintf(": there are %d processes", len(list.processes)), err}
		if i := slices.IndexFunc(list.processes, func(s process) bool { return s.becomes }); i >= 0 {
			s := list.processes[i]
			list.err = &unfinishedError{fmt.Sprintf(": process %d (%s) has a lease or may have one, and has not run its client",
				s.pid, s.command), err}
		}
	}
	for _, s := range list.processes {
		if s.refused {
			list.refused++
		}
		if s.monitor != nil {
			list.monitors = append(list.monitors, *s.monitor)
		}
		if s.claimant != nil {
			list.claimants = append(list.claimants, *s.claimant)
		}
	}
	if len(list.monitors) > 0 {
		parents := make([]parentage, len(list.processes))
		if err := r.inParallel(ctx, dir, len(parents),
			func(w *worker, i int) { parents[i] = w.readParent(list.processes[i]) }); err != nil {
			list.err = &unfinishedError{": the containers of conmon are not known", err}
		}
		list.findInits(parents)
	}
	return list
}

// processNames lists the processes in the open directory, by the names that are their pids,
// ascending.
func processNames(dir int) ([]string, error) {
	var pids []string
	err := eachName(dir, make([]byte, 32<<10), func(name string) bool {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			pids = append(pids, name)
		}
		return true
	})
	slices.SortFunc(pids, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return pids, err
}

// readName reads the name of a process, and its command line where that is needed. It
// does not read stat, which also has the name: for stat the kernel counts threads, and
// shims have many.
func (w *worker) readName(s *process, mounts string, q usage.Question) {
	text, err := readEntry(w.dir, w.pathOf(s.name, "/comm"), w.text[:])
	if err != nil {
		s.skip, s.refused = true, isAccessDenied(err)
		return
	}
	s.command = strings.TrimSuffix(string(text), "\n")
	if q.Lost || s.command == monitorName {
		w.readCommandLine(s, q)
	}
	s.skip = w.isEngine(s.name, s.command, mounts)
}

// readCommandLine finds the container or the lease in the command line of a process, if
// the process is trusted.
func (w *worker) readCommandLine(s *process, q usage.Question) {
	// The owner comes first: the kernel has it at hand, while a command line is in the
	// process's memory, where a reader may have to wait for the process.
	status, ok := w.readStatus(s.name)
	if !ok || status.depth != 1 || !w.proc.trustsCommandLine(status) {
		return // in a pid namespace below ours are containers, whose root is not ours
	}
	if w.cmdline == nil {
		w.cmdline = make([]byte, maxCommand)
	}
	words, err := w.commandLine(s, q)
	if err != nil {
		return
	}
	if len(words) == len(w.cmdline) {
		words = words[:bytes.LastIndexByte(words, 0)+1]
	}
	var labels leaseLabels
	var args conmonArgs
	var isClient, isMonitor bool
	if q.Lost {
		labels, isClient = parseLeaseLabels(words)
	}
	if s.command == monitorName {
		args, isMonitor = parseConmon(words)
	}
	if !isClient && !isMonitor {
		return
	}
	client, ok := w.clientOf(s)
	if !ok || client.PIDNamespace == 0 {
		return // Liveness could not follow it
	}
	if isMonitor {
		s.monitor = &monitor{conmonArgs: args, client: client, uid: status.uid}
	}
	if gpus := w.devices.Indices(labels.gpus...); isClient && len(gpus) > 0 {
		s.claimant = &usage.Claimant{Client: client, UID: status.uid, Lease: labels.lease, GPUs: gpus}
	}
}

// clientOf returns the process as Proc.Liveness knows it; its namespace is 0 where /proc is
// that of another pid namespace.
func (w *worker) clientOf(s *process) (usage.Client, bool) {
	stat, ok := w.readStat(s.name)
	if !ok {
		return usage.Client{}, false
	}
	namespace, err := w.proc.namespace()
	if err != nil {
		namespace = 0
	}
	return usage.Client{PID: s.pid, Start: stat.start, PIDNamespace: namespace}, true
}

func (w *worker) readStat(name string) (stat, bool) {
	text, err := readAt(w.dir, name+"/stat", w.text[:])
	if err != nil {
		return stat{}, false
	}
	return parseStat(text)
}

func (w *worker) readStatus(name string) (status, bool) {
	text, err := readAt(w.dir, name+"/status", w.text[:])
	if err != nil || len(text) == len(w.text) {
		return status{}, false // a number cut short would be another
	}
	return parseStatus(text)
}
