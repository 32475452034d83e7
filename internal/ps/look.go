// SPDX-License-Identifier: Apache-2.0

package ps

import (
	"context"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// LeaseSource names the leases among the sources.
const LeaseSource = "lease"

// SourceNames are the sources that a look can be narrowed to.
var SourceNames = []string{LeaseSource, "docker", "containerd", "podman", "cri-o", usage.Kubernetes, usage.Processes}

// Look returns who uses the GPUs of the keeper's node, as the named sources see it. Without
// names all sources are asked, and leases that are over are settled if this user may.
func Look(ctx context.Context, k *lease.Keeper, only ...string) (lease.Report, error) {
	if len(only) == 0 {
		return k.Settle(ctx)
	}
	report, err := Narrow(k, only...).Report(ctx)
	if err != nil {
		return report, err
	}
	return strip(report, slices.Contains(only, LeaseSource)), nil
}

// Narrow returns the keeper with only the named sources.
func Narrow(k *lease.Keeper, only ...string) *lease.Keeper {
	narrowed := *k
	narrowed.Sources = func(s lease.State) []lease.Source {
		return slices.DeleteFunc(k.Sources(s), func(source lease.Source) bool {
			engine, _ := source.Name()
			return !slices.Contains(only, engine)
		})
	}
	if !slices.Contains(only, LeaseSource) {
		narrowed.Store = lenient{k.Store}
	}
	return &narrowed
}

// lenient is a store of which only the hints count, so that it may be broken.
type lenient struct{ lease.Store }

func (l lenient) Read() (lease.State, error) {
	s, err := l.Store.Read()
	if err != nil {
		s = lease.NewState("")
	}
	s.New, s.Lost = false, ""
	return s, nil
}

// strip leaves what was seen now, and the leases only if they are requested.
func strip(r lease.Report, leases bool) lease.Report {
	seen := r.Holders
	r.Holders = nil
	for _, h := range seen {
		if !leases {
			h.Lease, h.GPUs = nil, nil
			if h.Container != nil {
				h.GPUs = append(h.GPUs, h.Container.GPUs...)
			}
			for _, p := range h.Processes {
				h.GPUs = append(h.GPUs, p.GPUs...)
			}
			h.GPUs = usage.Sorted(h.GPUs)
		}
		if !h.Stale && len(h.GPUs) > 0 {
			r.Holders = append(r.Holders, h)
		}
	}
	if !leases {
		r.State.Queue, r.Closed = nil, nil
	}
	return r
}
