package usage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Holder is whoever has GPUs, as all sources together tell: a lease with or
// without its container, a container without a lease, processes outside of
// both. What a source did not tell is nil or empty.
type Holder struct {
	GPUs      []gpu.BDF // ascending
	Lease     *Lease
	Container *Container
	Processes []Process // ascending by PID
	// Stale is true for a container whose engine did not answer: it held the GPUs
	// when it was last seen.
	Stale bool
	// Unseen is true for GPUs of which nothing more is known than that an unfinished
	// look may have missed their holder.
	Unseen bool
}

// The origins of a Holder.
const (
	FromLease     = "lease"
	FromContainer = "container"
	FromProcess   = "process"
)

// Sources are the origins that told of the holder.
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

// State is one word for how the holder stands: "pending" before there is a
// container, "expiring" after its client ended without one, a ContainerState,
// "unknown" where the engine does not answer, "open" for processes alone, or "unseen"
// for GPUs that may be in use.
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
	case h.Lease != nil && h.Lease.Bound:
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
		words = append(words, "container "+cmp.Or(h.Container.Name, short(h.Container.ID))+" ("+h.Container.Engine+")")
		if h.State() == string(Created) {
			words[0] += " that has not been started"
		}
	case h.Lease != nil && h.Lease.Container != "":
		words = append(words, "container "+short(h.Lease.Container))
	case h.Unseen:
		words = append(words, "a process that was not inspected")
	case h.Lease == nil && len(h.Processes) > 0:
		p := h.Processes[0]
		words = append(words, "process "+strconv.Itoa(p.PID)+" ("+p.Command+")")
	}
	if h.Lease != nil {
		words = append(words, "lease "+h.Lease.ID)
		if u := h.Lease.User; u != nil {
			words = append(words, "of "+u.String())
		}
	}
	return strings.Join(words, ", ")
}

// HeldSlice returns who holds a slice, nil if nobody is known to. A container that
// came by the node that slices have in common, and not through metax-docker, is
// not known to have this one and not another.
func HeldSlice(holders []Holder, name string) *Holder {
	for _, h := range holders {
		if h.Lease != nil && slices.Contains(h.Lease.Slices, name) || h.Container != nil && slices.Contains(h.Container.Slices, name) {
			return &h
		}
	}
	return nil
}

// Held returns those of the holders who have the GPU, nil if nobody has: leases
// first, then containers, then processes.
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

// short is an ID as engines show it to people.
func short(id string) string {
	if len(id) == 64 {
		return id[:12]
	}
	return id
}
