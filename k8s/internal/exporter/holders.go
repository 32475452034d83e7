// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Host looks for those who use the GPUs of a host without Kubernetes, by the leases and the
// engines. It changes no lease, and does not look at processes, for which it would need more
// rights than for the rest.
type Host struct {
	Root string          // directory that stands for the host's "/"
	Node func() gpu.Node // now
	// Toolkit is the path of metax-ctk, which knows more of a containerd's new containers.
	Toolkit string
	// Ignore is the setting gpus.ignore.
	Ignore string
	Log    *slog.Logger

	mu   sync.Mutex
	gpus []gpu.GPU              // of the node at the last look
	seen map[string]lease.Known // the containers of it, by usage.Container.Key
}

// Holders returns who uses the GPUs, as metax-ctk ps sees it but for processes. The error is
// that of the leases; each source has its own.
func (h *Host) Holders(ctx context.Context) (lease.Report, error) {
	n := h.Node()
	keeper, err := assign.New(assign.Config{
		Node: n, Root: h.Root, Ignore: h.Ignore, GRPC: assign.Tasks(assign.Containerd("", os.Getenv), nil, h.askToolkit),
		Warn: func(line string) { h.Log.Warn(line) },
	})
	if err != nil {
		return lease.Report{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !reflect.DeepEqual(h.gpus, n.GPUs) {
		h.gpus, h.seen = n.GPUs, nil // what containers have of other GPUs is not known
	}
	keeper.Store = remembering{keeper.Store, h.seen}
	report, err := ps.Look(ctx, keeper.Keeper, slices.DeleteFunc(slices.Clone(ps.SourceNames), func(name string) bool {
		return name == usage.Processes || name == usage.Kubernetes
	})...)
	h.seen = report.State.Seen
	return report, err
}

// askToolkit asks metax-ctk what the containerd at the address knows.
func (h *Host) askToolkit(ctx context.Context, address string) (told ps.Occupancy, err error) {
	text, err := child.Run(ctx, h.Toolkit, "--root", h.Root, "ps", "--source", containerd, "-o", "json")
	if err != nil {
		return told, err
	}
	if err := json.Unmarshal(text, &told); err != nil {
		return told, fmt.Errorf("read the answer of %s: %w", h.Toolkit, err)
	}
	return told, told.Answered(containerd, address)
}

// containerd is the engine of that name.
const containerd = "containerd"

// remembering is a store whose state also knows the containers of an earlier look, so that no
// engine is asked again for what never changes.
type remembering struct {
	lease.Store
	seen map[string]lease.Known
}

func (r remembering) Read() (lease.State, error) {
	s, err := r.Store.Read()
	all := maps.Clone(r.seen)
	if all == nil {
		return s, err
	}
	maps.Copy(all, s.Seen)
	s.Seen = all
	return s, err
}
