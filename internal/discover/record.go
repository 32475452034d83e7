// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// currentPart returns the part of a record that still holds for the node as the kernel finds
// it now. A GPU that was recorded as unhealthy for lack of device nodes counts as healthy if
// it has them now. A GPU that is not here any more is left out (see noteLost). A GPU whose
// mode or list the kernel knows has only the sGPUs that the kernel lists.
func currentPart(record, now gpu.Node, kernel sysfs.Report) gpu.Node {
	record.GPUs = slices.DeleteFunc(slices.Clone(record.GPUs), func(g gpu.GPU) bool {
		_, here := now.Lookup(g.BDF)
		return !here
	})
	for i, then := range record.GPUs {
		if g, ok := now.Lookup(then.BDF); ok && len(then.Nodes) < len(g.Nodes) {
			record.GPUs[i].Healthy = true
		}
		unsliced := slices.Contains(kernel.Unsliced, then.BDF)
		if unsliced {
			record.GPUs[i].Mode = ""
		}
		if unsliced || slices.Contains(kernel.Listed, then.BDF) {
			at := slices.IndexFunc(now.GPUs, func(g gpu.GPU) bool { return g.BDF == then.BDF })
			record.GPUs[i].Slices = slices.DeleteFunc(slices.Clone(then.Slices), func(s gpu.Slice) bool {
				return s.Kind == gpu.SliceSGPU &&
					(unsliced || at < 0 || !slices.ContainsFunc(now.GPUs[at].Slices, func(o gpu.Slice) bool { return isSame(o, s) }))
			})
		}
	}
	return record
}

// hasVendorFacts reports whether a record has anything that only the vendor's software
// can have reported.
func hasVendorFacts(record gpu.Node) bool {
	return len(record.Links) > 0 ||
		slices.ContainsFunc(record.GPUs, func(g gpu.GPU) bool { return g.UUID != "" })
}

// unknownWhenRecorded is the warning of a node that relies on a record without links.
// Recording again helps unless there was no mx-smi.
func unknownWhenRecorded(record gpu.Node) string {
	for _, w := range record.Warnings {
		if strings.HasPrefix(w, mxsmi.LinksUnknown+": "+noTool) {
			return w
		}
	}
	return mxsmi.LinksUnknown + ": the recorded node has none. Record again: sudo metax-ctk cdi generate"
}

// isUnlinked reports whether a record of several GPUs lacks links because MetaXLink was
// unknown. A missing list of links does not show that: links are recorded only where
// they differ from PCIe, so a host without MetaXLink has none.
func isUnlinked(record gpu.Node) bool {
	return len(record.GPUs) > 1 && len(record.Links) == 0 &&
		slices.ContainsFunc(record.Warnings, func(w string) bool { return strings.HasPrefix(w, mxsmi.LinksUnknown) })
}

// fillFromRecord adds to the answer what only the record knows about the node's GPUs,
// so that one failed query loses nothing that was known. A card that is not the
// recorded one at its address gets nothing from the record.
func fillFromRecord(t *vendorAnswer, record gpu.Node, node *gpu.Node) {
	f := filler{answer: t, at: map[int]int{}}
	for _, then := range record.GPUs {
		if _, ok := node.Lookup(then.BDF); ok {
			f.gpu(then)
		}
	}
	if len(node.GPUs) > 1 && len(t.Links) == 0 {
		f.links(record.Links)
		if isUnlinked(record) {
			node.Warnings = append(node.Warnings, unknownWhenRecorded(record))
		}
	}
	if len(f.taken) > 0 {
		fromRecord(node, t.source+" did not report everything%s; taken from the recorded node: "+strings.Join(f.taken, ", "),
			f.taken)
	}
}

// fromRecord says first that facts come from the record, and why, instead of warnings that
// they are unknown. %s in line is for the reason.
func fromRecord(node *gpu.Node, line string, taken []string) {
	why, others := "", []string{}
	for _, w := range node.Warnings {
		what, cause, ok := strings.Cut(w, ": ")
		if ok && slices.Contains(taken, unknownFacts[what]) {
			if why == "" {
				why = " (" + cause + ")"
			}
			continue
		}
		others = append(others, w)
	}
	node.Warnings = append([]string{fmt.Sprintf(line, why)}, others...)
}

// unknownFacts are how warnings about missing facts begin, with the kind of facts.
var unknownFacts = map[string]string{
	"UUIDs and health are not known": "UUIDs", "serial numbers are not known": "serial numbers",
	"memory sizes are not known": "memory sizes", mxsmi.LinksUnknown: "MetaXLink",
}

// filler fills the empty fields of an answer.
type filler struct {
	answer *vendorAnswer
	at     map[int]int // index in the record → index in the answer, of the same card
	taken  []string    // the kinds of facts taken from the record
}

func (f *filler) gpu(then gpu.GPU) {
	at := slices.IndexFunc(f.answer.GPUs, func(g gpu.GPU) bool { return g.BDF == then.BDF })
	if f.isElsewhere(then) || (at >= 0 && isAnother(f.answer.GPUs[at], then)) {
		return
	}
	if at < 0 {
		at = len(f.answer.GPUs)
		f.answer.GPUs = append(f.answer.GPUs, gpu.GPU{Index: at, BDF: then.BDF, NUMA: gpu.NUMAUnknown, Healthy: true})
	}
	g := &f.answer.GPUs[at]
	f.at[then.Index] = g.Index
	fillFact(f, "UUIDs", &g.UUID, then.UUID)
	fillFact(f, "serial numbers", &g.Serial, then.Serial)
	fillFact(f, "models", &g.Model, then.Model)
	fillFact(f, "memory sizes", &g.MemoryMiB, then.MemoryMiB)
	fillFact(f, "VBIOS versions", &g.VBIOS, then.VBIOS)
	if !f.answer.slices {
		g.Mode, g.Slices = then.Mode, then.Slices
	}
	if len(f.answer.listed) == 0 {
		g.Healthy = then.Healthy
		f.noteTaken("health")
	}
}

// isElsewhere reports whether a recorded card is at another address now.
func (f *filler) isElsewhere(then gpu.GPU) bool {
	return slices.ContainsFunc(f.answer.GPUs, func(g gpu.GPU) bool {
		return g.BDF != then.BDF && ((then.Serial != "" && g.Serial == then.Serial) ||
			(then.UUID != "" && strings.EqualFold(string(g.UUID), string(then.UUID))))
	})
}

// isAnother reports whether two GPUs at one address are certainly different cards.
func isAnother(now, then gpu.GPU) bool {
	return (now.Serial != "" && then.Serial != "" && now.Serial != then.Serial) ||
		(now.UUID != "" && then.UUID != "" && !strings.EqualFold(string(now.UUID), string(then.UUID)))
}

func (f *filler) links(links []gpu.Link) {
	for _, l := range links {
		a, ok1 := f.at[l.A]
		b, ok2 := f.at[l.B]
		if ok1 && ok2 {
			l.A, l.B = a, b
			f.answer.Links = append(f.answer.Links, l)
			f.noteTaken("MetaXLink")
		}
	}
}

// fillFact sets a fact if it is empty.
func fillFact[T comparable](f *filler, what string, to *T, then T) {
	var empty T
	if *to == empty && then != empty {
		*to = then
		f.noteTaken(what)
	}
}

func (f *filler) noteTaken(what string) {
	if !slices.Contains(f.taken, what) {
		f.taken = append(f.taken, what)
	}
}
