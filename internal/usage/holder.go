// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Holder is a user of GPUs, merged from all sources: a lease with or without its
// container, a container without a lease, or processes outside of both. What no source
// reported is nil or empty; all but GPUs is where only the kernel's list shows an open file.
type Holder struct {
	GPUs      []gpu.BDF // ascending
	Lease     *Lease
	Container *Container
	Processes []Process // ascending by PID
	// Stale is true for a container whose engine did not answer, and that used the GPUs when
	// it was last seen.
	Stale bool
	// Hidden is true for a lease whose engine does not show this user its containers.
	Hidden bool
	// Unseen is true for GPUs whose holder an unfinished look may have missed.
	Unseen bool
}

// The origins of a Holder, by source.
const (
	FromLease     = "lease"
	FromContainer = "container"
	FromProcess   = "process"
)

// Sources returns the origins of the holder.
func (h Holder) Sources() []string {
	var from []string
	if h.Lease != nil {
		from = append(from, FromLease)
	}
	if h.Container != nil {
		from = append(from, FromContainer)
	}
	if len(h.Processes) > 0 {
		from = append(from, FromProcess)
	}
	return from
}

// State returns one word for the state of the holder: "pending" before there is a container,
// "expiring" after its client ended without one, a ContainerState, "unknown" where the engine
// does not answer this user, "open" for processes alone, or "unseen" for GPUs that may be in
// use.
func (h Holder) State() string {
	switch {
	case h.Unseen:
		return "unseen"
	case h.Stale:
		return "unknown"
	case h.Container != nil && h.Container.Holds():
		return string(h.Container.State)
	case h.Lease != nil && h.Lease.Gone != 0:
		return "expiring"
	case h.Lease != nil && (h.Lease.Bound || h.Hidden):
		return "unknown"
	case h.Lease != nil:
		return "pending"
	}
	return "open"
}

// String names the holder for a message.
func (h Holder) String() string {
	var words []string
	switch {
	case h.Container != nil:
		words = append(words, "container "+cmp.Or(h.Container.Name, ShortID(h.Container.ID))+" ("+h.Container.Engine+")")
		if h.State() == string(Created) {
			words[0] += " that has not been started"
		}
	case h.Lease != nil && h.Lease.Container != "":
		words = append(words, "container "+ShortID(h.Lease.Container))
	case h.Unseen:
		words = append(words, "a process that was not inspected")
	case h.Lease == nil && len(h.Processes) > 0:
		p := h.Processes[0]
		words = append(words, "process "+strconv.Itoa(p.PID)+" ("+p.Command+")")
	case h.Lease == nil:
		words = append(words, "a process that was not found")
	}
	if h.Lease != nil {
		words = append(words, "lease "+h.Lease.ID)
		if u := h.Lease.User; u != nil {
			words = append(words, "of "+u.String())
		}
	}
	return strings.Join(words, ", ")
}

// HeldSlice returns the holder of a slice of a GPU, nil if none is known. Slices share device
// nodes: of a container that got one without metax-docker, it is not known which slice it has.
func HeldSlice(holders []Holder, of gpu.BDF, name string) *Holder {
	for _, h := range holders {
		if (h.Lease != nil && holdsSlice(h.Lease.Slices, h.Lease.GPUs, of, name)) ||
			(h.Container != nil && holdsSlice(h.Container.Slices, h.Container.GPUs, of, name)) {
			return &h
		}
	}
	return nil
}

// holdsSlice reports whether one of the names is the slice's. Earlier versions had other names
// of sGPUs, SGPU-…, which tell no more than the GPU: whoever has one may have any sGPU of that
// GPU, until the container ends.
func holdsSlice(names []string, gpus []gpu.BDF, of gpu.BDF, name string) bool {
	isFormer := func(name string) bool { return strings.HasPrefix(name, "SGPU-") }
	return slices.Contains(names, name) ||
		(strings.HasPrefix(name, "GPU-") && slices.ContainsFunc(names, isFormer) &&
			(len(gpus) == 0 || slices.Contains(gpus, of)))
}

// Held returns the holders of the GPU, nil if there are none: leases first, then
// containers, then processes.
func Held(holders []Holder, bdf gpu.BDF) []Holder {
	var out []Holder
	for _, h := range holders {
		if slices.Contains(h.GPUs, bdf) {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b Holder) int { return a.rank() - b.rank() })
	return out
}

func (h Holder) rank() int {
	switch {
	case h.Lease != nil:
		return 0
	case h.Container != nil:
		return 1
	}
	return 2
}

// ShortID returns the ID of a container as engines print it.
func ShortID(id string) string {
	if len(id) == 64 {
		return id[:12]
	}
	return id
}

// Sorted returns the GPUs ascending and each once. It may reuse its argument.
func Sorted(bdfs []gpu.BDF) []gpu.BDF {
	slices.SortFunc(bdfs, gpu.BDF.Compare)
	return slices.Compact(bdfs)
}

// Overlap reports whether two lists of GPUs have one in common.
func Overlap(a, b []gpu.BDF) bool {
	return slices.ContainsFunc(a, func(x gpu.BDF) bool { return slices.Contains(b, x) })
}
