package discover

import (
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// recall returns what of a record still holds on the node as the kernel finds
// it now: a GPU that was unhealthy when it lacked device nodes may be well with
// them, and one that is whole has no slices.
func recall(record, now gpu.Node, whole []gpu.BDF) gpu.Node {
	record.GPUs = slices.Clone(record.GPUs)
	for i, then := range record.GPUs {
		if g, ok := now.Lookup(then.BDF); ok && len(then.Nodes) < len(g.Nodes) {
			record.GPUs[i].Healthy = true
		}
		if slices.Contains(whole, then.BDF) {
			record.GPUs[i].Mode = ""
			record.GPUs[i].Slices = slices.DeleteFunc(slices.Clone(then.Slices), func(s gpu.Slice) bool { return s.Kind == gpu.SliceSGPU })
		}
	}
	return record
}

// isTold reports whether a record holds anything that only the vendor's software can
// have told.
func isTold(record gpu.Node) bool {
	return len(record.Links) > 0 ||
		slices.ContainsFunc(record.GPUs, func(g gpu.GPU) bool { return g.UUID != "" })
}

// notThen is why a node that falls back on a record has no links.
const notThen = "it was not known when the node was recorded"

// isUnlinked reports whether a record of several GPUs lacks links because they
// were not known. That it has none says nothing by itself: it states only what
// PCIe does not, and a host without MetaXLink has nothing to state.
func isUnlinked(record gpu.Node) bool {
	return len(record.GPUs) > 1 && len(record.Links) == 0 &&
		slices.ContainsFunc(record.Warnings, func(w string) bool {
			return strings.HasPrefix(w, mxsmi.Unlinked) || strings.HasPrefix(w, "MetaXLink is not known") // as older versions wrote
		})
}

// complete adds to what the tool told what only the record tells of the node's
// GPUs, so that one query that fails loses nothing that was known. A card that
// is not the one recorded at its address takes nothing from it.
func complete(t *told, record gpu.Node, node *gpu.Node) {
	f := filler{told: t, at: map[int]int{}}
	for _, then := range record.GPUs {
		if _, ok := node.Lookup(then.BDF); ok {
			f.gpu(then)
		}
	}
	if len(node.GPUs) > 1 && len(t.Links) == 0 {
		f.links(record.Links)
		if isUnlinked(record) {
			node.Warnings = append(node.Warnings, mxsmi.Unlinked+": "+notThen)
		}
	}
	if len(f.taken) > 0 {
		node.Warnings = append(node.Warnings, t.source+" does not tell everything now, as recorded before are: "+strings.Join(f.taken, ", "))
	}
}

// filler fills what the tool left empty.
type filler struct {
	told  *told
	at    map[int]int // index in the record → index in told, of the same card
	taken []string    // the kinds of facts taken from the record
}

func (f *filler) gpu(then gpu.GPU) {
	at := slices.IndexFunc(f.told.GPUs, func(g gpu.GPU) bool { return g.BDF == then.BDF })
	if f.isElsewhere(then) || at >= 0 && isAnother(f.told.GPUs[at], then) {
		return
	}
	if at < 0 {
		at = len(f.told.GPUs)
		f.told.GPUs = append(f.told.GPUs, gpu.GPU{Index: at, BDF: then.BDF, NUMA: gpu.NUMAUnknown, Healthy: true})
	}
	g := &f.told.GPUs[at]
	f.at[then.Index] = g.Index
	fill(f, "UUIDs", &g.UUID, then.UUID)
	fill(f, "serial numbers", &g.Serial, then.Serial)
	fill(f, "models", &g.Model, then.Model)
	fill(f, "memory sizes", &g.MemoryMiB, then.MemoryMiB)
	if !f.told.slices {
		g.Mode, g.Slices = then.Mode, then.Slices
	}
	if len(f.told.listed) == 0 {
		g.Healthy = then.Healthy
		f.took("health")
	}
}

// isElsewhere reports whether the card of a record is at another address now.
func (f *filler) isElsewhere(then gpu.GPU) bool {
	return slices.ContainsFunc(f.told.GPUs, func(g gpu.GPU) bool {
		return g.BDF != then.BDF && (then.Serial != "" && g.Serial == then.Serial ||
			then.UUID != "" && strings.EqualFold(string(g.UUID), string(then.UUID)))
	})
}

// isAnother reports whether two GPUs at one address are known to be two cards.
func isAnother(now, then gpu.GPU) bool {
	return now.Serial != "" && then.Serial != "" && now.Serial != then.Serial ||
		now.UUID != "" && then.UUID != "" && !strings.EqualFold(string(now.UUID), string(then.UUID))
}

func (f *filler) links(links []gpu.Link) {
	for _, l := range links {
		a, ok1 := f.at[l.A]
		b, ok2 := f.at[l.B]
		if ok1 && ok2 {
			l.A, l.B = a, b
			f.told.Links = append(f.told.Links, l)
			f.took("MetaXLink")
		}
	}
}

// fill sets a fact that is empty.
func fill[T comparable](f *filler, what string, to *T, then T) {
	var empty T
	if *to == empty && then != empty {
		*to = then
		f.took(what)
	}
}

func (f *filler) took(what string) {
	if !slices.Contains(f.taken, what) {
		f.taken = append(f.taken, what)
	}
}
