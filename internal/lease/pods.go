// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// PodGrace is how long a lease of a pod lasts after the device plugin renewed it last. Then it
// lasts as long as the kubelet lists the GPUs as those of a pod.
const PodGrace = 5 * time.Minute

// renewEvery is how often the device plugin renews a lease.
const renewEvery = PodGrace / 5

// ErrNoState reports that there is no state, so that nobody knows which GPUs are in use: since
// the boot no command has looked, or the state was lost.
var ErrNoState = errors.New("the leases of this host are not known (sudo metax-ctk lease gc)")

// PodUse is the GPUs of one container of a pod, by the device plugin.
type PodUse struct {
	Devices []string // the kubelet's IDs, ascending
	GPUs    []gpu.BDF
	// Container is "namespace/pod/container", empty while it is not known.
	Container string
}

// PodError reports a GPU that a pod cannot get because of a lease.
type PodError struct {
	GPU    gpu.BDF
	Holder usage.Holder
}

func (e *PodError) Error() string { return fmt.Sprintf("GPU %s is in use by %s", e.GPU, e.Holder) }

func (e *PodError) Unwrap() error { return ErrBusy }

// TakePod adds the lease of a pod for a device plugin. It fails with ErrNoState, or with a
// *PodError if somebody other than a pod has a lease of one of the GPUs. It does not wait, and
// requests in the queue do not go first.
func (s *State) TakePod(u PodUse, plugin usage.Client, uptime time.Duration, now time.Time) error {
	if s.New {
		return ErrNoState
	}
	for _, l := range s.Leases {
		for _, g := range u.GPUs {
			if l.Engine != usage.Kubernetes && slices.Contains(l.GPUs, g) {
				return &PodError{g, usage.Holder{GPUs: l.GPUs, Lease: &l}}
			}
		}
	}
	s.putPod(u, plugin, uptime, now)
	return nil
}

// SetPods makes the leases of pods those of all that pods use, as a device plugin knows it. A
// lease that another plugin added stays for PodGrace: in an update, two of them answer the
// kubelet. A new State stays as it is.
func (s *State) SetPods(uses []PodUse, plugin usage.Client, uptime time.Duration, now time.Time) {
	if s.New {
		return
	}
	known := map[string]bool{}
	for _, u := range uses {
		id := usage.PodLeaseID(s.Boot, u.Devices)
		known[id] = true
		if old := s.Lease(id); old == nil || uptime-old.Renewed >= renewEvery ||
			(u.Container != "" && old.Container != u.Container) {
			s.putPod(u, plugin, uptime, now)
		}
	}
	s.Leases = slices.DeleteFunc(s.Leases, func(l usage.Lease) bool {
		return l.Engine == usage.Kubernetes && !known[l.ID] && (l.Client == plugin || uptime-l.Renewed >= PodGrace)
	})
}

func (s *State) putPod(u PodUse, plugin usage.Client, uptime time.Duration, now time.Time) {
	l := usage.Lease{
		ID: usage.PodLeaseID(s.Boot, u.Devices), GPUs: usage.Sorted(slices.Clone(u.GPUs)), Engine: usage.Kubernetes,
		Verb:   usage.VerbAllocate,
		Client: plugin, Since: now, Container: u.Container, Bound: u.Container != "", Renewed: uptime,
	}
	if old := s.Lease(l.ID); old != nil && old.Container == l.Container {
		l.Since = old.Since
	}
	s.putLease(l)
}

// podOf returns the container that has the GPUs of a pod's lease, by what the kubelet lists.
func podOf(l usage.Lease, all map[string]seenContainer) (found seenContainer, ok bool) {
	for _, c := range all {
		if c.Engine != usage.Kubernetes || !usage.Overlap(c.GPUs, l.GPUs) {
			continue
		}
		if c.ID == l.Container {
			return c, true
		}
		if !ok || c.ID < found.ID {
			found, ok = c, true
		}
	}
	return found, ok
}

// nextOfPod is next for a lease of a pod. Its client is the device plugin, whose end means
// nothing.
func (r *observed) nextOfPod(l usage.Lease, all map[string]seenContainer) (next *usage.Lease, why string) {
	if c, ok := podOf(l, all); ok {
		if l.Bound {
			return nil, ""
		}
		l.Bound, l.Container = true, c.ID
		return &l, ""
	}
	if absent, _ := r.containerGone(l); !absent || r.begin-l.Renewed < PodGrace {
		return nil, ""
	}
	return nil, "the kubelet lists no pod with its GPUs"
}
