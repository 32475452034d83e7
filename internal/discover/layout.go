// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// fresh is what the driver's own files say now about the GPUs of a node. Unlike the answers of
// the vendor's software, it is there at every start.
type fresh struct {
	layout.Layout
}

// readLayout reads the driver's own files. A layout in which no address is that of a function
// of this host is not used: then its addresses mean something else than is known here.
func (h Host) readLayout(kernel sysfs.Report, links bool) fresh {
	l := layout.Read(h.Root, links)
	known := func(b gpu.BDF) bool {
		return slices.Contains(kernel.OrphanVFs, b) ||
			slices.ContainsFunc(kernel.GPUs, func(g gpu.GPU) bool { return g.BDF == b || slices.Contains(g.VFs, b) })
	}
	for b := range l.GPUs {
		if known(b) {
			return fresh{l}
		}
	}
	if len(l.GPUs) > 0 {
		l = layout.Layout{Warnings: []string{fmt.Sprintf(
			"the driver's layout is not used: its %d addresses are not those of GPUs on the PCI bus", len(l.GPUs))}}
	}
	return fresh{l}
}

// hasLost reports whether a GPU has device nodes but certainly no node in the layout: the
// driver has lost it. A GPU that is split into virtual functions has no node.
func (f fresh) hasLost(g gpu.GPU) bool {
	_, found := f.GPUs[g.BDF]
	return !found && len(f.GPUs) > 0 && f.Unread == nil && f.Late == nil && len(g.Nodes) > 0 && len(g.VFs) == 0
}

// lookFailure is why a look at these files is a failed one; empty if it is not. On this
// machine itself, a user may be one who may not read them.
func (f fresh) lookFailure(isReal bool) string {
	switch {
	case f.Late != nil:
		return terminal.Line(f.Late.Error())
	case f.Unread != nil && len(f.GPUs) == 0 && !isReal:
		return terminal.Line("the driver's layout: " + f.Unread.Error())
	}
	return ""
}

// problemOf returns why a GPU must not be given by the word of the driver's files; found is
// false if they call it available or say nothing.
func (f fresh) problemOf(g gpu.GPU) (p health.Problem, found bool) {
	l := f.GPUs[g.BDF]
	switch {
	case f.hasLost(g):
		return health.Problem{
			Code: vendorCode(noLayoutNode),
			Text: fmt.Sprintf("it has no node in the driver's layout (code %d)", noLayoutNode),
		}, true
	case l.State != layout.Unavailable:
		return health.Problem{}, false
	}
	p = health.Problem{Code: vendorCode(l.Code), Text: "the driver reports it as unhealthy"}
	if l.Reason != "" {
		p.Text, p.Words = terminal.Line(fmt.Sprintf("the driver reports %q", l.Reason)), terminal.Line(l.Reason)
	}
	if l.Code != 0 {
		p.Text += fmt.Sprintf(" (code %d)", l.Code)
	}
	return p, true
}

// Activity returns what the driver's own files of a host say about health, in a form in which
// two equal answers are the same text. It costs a few small files for each GPU.
func Activity(host *hostfs.Root) string {
	l := layout.Read(host, false)
	var words []string
	for _, b := range slices.SortedFunc(maps.Keys(l.GPUs), gpu.BDF.Compare) {
		words = append(words, fmt.Sprintf("%s %d %d", b, l.GPUs[b].State, l.GPUs[b].Code))
	}
	if l.Late != nil {
		words = append(words, "late")
	}
	return strings.Join(words, "; ")
}

// Inactive returns the unhealthy GPUs of a node that the driver's own files of its host call
// unavailable. The vendor's software has its verdict from the same files, so once they call
// the GPU available, it is.
func Inactive(host *hostfs.Root, n gpu.Node) (inactive []gpu.BDF) {
	if !slices.ContainsFunc(n.GPUs, func(g gpu.GPU) bool { return !g.Healthy }) {
		return nil
	}
	now := fresh{layout.Read(host, false)}
	for _, g := range n.GPUs {
		if _, found := now.problemOf(g); found && !g.Healthy {
			inactive = append(inactive, g.BDF)
		}
	}
	return inactive
}

func vendorCode(number int) string {
	if number == 0 {
		return health.Vendor
	}
	return fmt.Sprintf("%s-%d", health.Vendor, number)
}

// noLayoutNode is the code of the vendor's library for a GPU without a node.
const noLayoutNode = 101

// validPart returns what still holds of a record. GPUs are healthy that were unavailable by
// the word of the layout alone, and are available now. Another card at the same address gets
// nothing from the record, with a warning.
func (f fresh) validPart(record gpu.Node, inactive []gpu.BDF) (current gpu.Node, warnings []string) {
	all := record.GPUs
	record.GPUs = nil
	for _, g := range all {
		l := f.GPUs[g.BDF]
		if l.UUID != "" && g.UUID != "" && !l.UUID.Equal(string(g.UUID)) {
			warnings = append(warnings, fmt.Sprintf(
				"GPU %s has the UUID %s in the driver's layout and %s in %s, so nothing else of that is used for it", g.BDF, l.UUID, g.UUID, recordSource))
			continue
		}
		if slices.Contains(inactive, g.BDF) && l.State == layout.Available {
			g.Healthy = true
		}
		record.GPUs = append(record.GPUs, g)
	}
	return record, warnings
}

// addTo adds the layout to a node that has the answer of another source; from is that answer,
// and source its name. Of two UUIDs, the layout's counts. For health and links, the worse of
// two answers counts.
func (f fresh) addTo(node *gpu.Node, from gpu.Node, source string) {
	for i := range node.GPUs {
		f.addHealth(node, &node.GPUs[i])
	}
	node.Warnings = append(node.Warnings, f.Warnings...)
	for i := range node.GPUs {
		f.addUUIDs(node, &node.GPUs[i], source)
	}
	dropSharedUUIDs(node)
	f.addLinks(node, from, source)
}

func isUnlinkedWarning(w string) bool { return strings.HasPrefix(w, mxsmi.LinksUnknown) }

// addHealth replaces the reason of another source by the driver's own, which both have from
// the same file.
func (f fresh) addHealth(node *gpu.Node, g *gpu.GPU) {
	p, found := f.problemOf(*g)
	if !found {
		return
	}
	prefix := fmt.Sprintf("GPU %s is unhealthy: ", g.BDF)
	node.Warnings = slices.DeleteFunc(node.Warnings, func(w string) bool { return strings.HasPrefix(w, prefix) })
	node.Warnings = append(node.Warnings, prefix+p.Text)
	g.Healthy = false
}

func (f fresh) addUUIDs(node *gpu.Node, g *gpu.GPU, source string) {
	if l := f.GPUs[g.BDF].UUID; l != "" {
		if g.UUID != "" && !l.Equal(string(g.UUID)) {
			node.Warnings = append(node.Warnings, fmt.Sprintf(
				"GPU %s has the UUID %s in the driver's layout and %s by %s; the layout's is used", g.BDF, l, g.UUID, source))
		}
		g.UUID = l
	}
	for i, s := range g.Slices {
		if l := f.GPUs[s.BDF].UUID; s.Kind == gpu.SliceVF && gpu.ValidSliceUUID(string(l)) {
			g.Slices[i].UUID = string(l)
		}
	}
}

// dropSharedUUIDs clears a UUID that several GPUs have, on all of them.
func dropSharedUUIDs(node *gpu.Node) {
	count := map[string]int{}
	for _, g := range node.GPUs {
		count[strings.ToLower(string(g.UUID))]++
	}
	for i, g := range node.GPUs {
		if g.UUID != "" && count[strings.ToLower(string(g.UUID))] > 1 {
			node.Warnings = append(node.Warnings,
				fmt.Sprintf("ignored the UUID %s of GPU %s: another GPU has the same", g.UUID, g.BDF))
			node.GPUs[i].UUID = ""
		}
	}
}

// addLinks takes the links of the layout where the other source does not know the links, and
// otherwise the weaker of both. A link that the other source calls down stays down.
func (f fresh) addLinks(node *gpu.Node, from gpu.Node, source string) {
	byPCIe := *node
	byPCIe.Links = nil
	pcie, others := topologyOf(byPCIe), topologyOf(*node)
	knowsLinks := !slices.ContainsFunc(node.Warnings, isUnlinkedWarning)
	isKnown := func(g gpu.GPU) bool { _, ok := from.Lookup(g.BDF); return knowsLinks && ok }
	row := map[[2]int]gpu.Link{}
	for _, l := range node.Links {
		row[[2]int{l.A, l.B}] = l
	}
	complete, warned := true, false // complete but for GPUs that are split, which have no links
	for a, g := range node.GPUs {
		if _, ok := f.GPUs[g.BDF]; !ok && len(g.VFs) == 0 {
			complete = false
		}
		for b := a + 1; b < len(node.GPUs); b++ {
			h := node.GPUs[b]
			kind, ok := f.LinkKind(g.BDF, h.BDF)
			if !ok {
				complete = complete && len(g.VFs)+len(h.VFs) > 0
				continue
			}
			if kind == topology.Unknown {
				kind = pcie.Kind(a, b)
			}
			if row[[2]int{a, b}].Down {
				continue
			}
			if known := others.Kind(a, b); isKnown(g) && isKnown(h) {
				if kind != known && !warned {
					warned = true
					node.Warnings = append(node.Warnings, fmt.Sprintf(
						"the link between GPUs %s and %s is %s in the driver's layout and %s by %s; the weaker counts, also for other such pairs", g.BDF, h.BDF, kind, known, source))
				}
				if kind >= known {
					continue
				}
			}
			delete(row, [2]int{a, b})
			if kind != pcie.Kind(a, b) {
				row[[2]int{a, b}] = gpu.Link{A: a, B: b, Kind: kind.String()}
			}
		}
	}
	node.Links = slices.Collect(maps.Values(row)) // nil without a link, as JSON has it
	gpu.SortLinks(node.Links)
	if complete {
		node.Warnings = slices.DeleteFunc(node.Warnings, isUnlinkedWarning)
	}
}
