// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"context"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// vendorAnswer is the answer of libmxsml, mx-smi or the record.
type vendorAnswer struct {
	gpu.Node
	// listed are the addresses of the GPUs that the source lists now; empty if the list
	// could not be read.
	listed []gpu.BDF
	source string // "libmxsml", "mx-smi" or recordSource, for messages
	slices bool   // whether the source can report slices
	driver string // the driver's version; empty if the source does not report it

	// own is what libmxsml or mx-smi said, the program or library at that path, and record is
	// what a record added or said alone.
	own, record gpu.Node
	at          string
}

// addVendorFacts adds what only the vendor's software or the record knows, and returns their
// answer. OrphanVFs of the kernel are not GPUs, even if the source lists them.
func (h Host) addVendorFacts(ctx context.Context, node *gpu.Node, kernel sysfs.Report, now fresh) vendorAnswer {
	warn := func(s string) { node.Warnings = append(node.Warnings, s) }
	t, asked, why := h.query(ctx, node)
	if len(t.GPUs) > 0 {
		matchListed(node, t, kernel.OrphanVFs)
		t.own = t.Node
		if h.Recorded != nil {
			t.record = h.currentRecord(node, kernel, now)
			t.GPUs = slices.Clone(t.GPUs)
			fillFromRecord(&t, t.record, node)
		}
		mergeReported(node, t.Node, t.source)
		return t
	}
	switch {
	case h.Recorded == nil && h.Run == nil:
		warn(mxsmi.LinksUnknown + ". Once per boot: sudo metax-ctk cdi generate")
		return vendorAnswer{}
	case h.Recorded == nil:
		if !asked { // otherwise the reader has already added its warnings
			warn(mxsmi.LinksUnknown + ": " + why)
		}
		return vendorAnswer{}
	case !hasVendorFacts(*h.Recorded):
		warn(unknownWhenRecorded(*h.Recorded))
	default:
		if h.Run != nil {
			fromRecord(node, "UUIDs, health and MetaXLink come from the recorded node: "+why+"%s",
				[]string{"UUIDs", "serial numbers", "memory sizes", "MetaXLink"})
		}
		if isUnlinked(*h.Recorded) {
			warn(unknownWhenRecorded(*h.Recorded))
		}
	}
	record := h.currentRecord(node, kernel, now)
	mergeReported(node, record, recordSource)
	for _, g := range node.GPUs {
		if _, ok := h.Recorded.Lookup(g.BDF); !ok && now.GPUs[g.BDF].UUID == "" {
			warn("GPU " + g.BDF.String() + " is not in the recorded node")
		}
	}
	return vendorAnswer{Node: record, source: recordSource, record: record}
}

// recordSource is the name of the record in messages.
const recordSource = "the recorded node"

// currentRecord is the part of the record that still holds.
func (h Host) currentRecord(node *gpu.Node, kernel sysfs.Report, now fresh) gpu.Node {
	record, warnings := now.validPart(*h.Recorded, h.Inactive)
	node.Warnings = append(node.Warnings, warnings...)
	return currentPart(record, *node, kernel)
}

// noTool begins the reason why mx-smi was not asked.
const noTool = "there is no mx-smi at "

// query returns the answer of libmxsml, or of mx-smi, and adds their warnings to the node. If
// neither answered, asked reports whether mx-smi was run, and why is the reason.
func (h Host) query(ctx context.Context, node *gpu.Node) (t vendorAnswer, asked bool, why string) {
	source, failed, err := h.queryVendor(func(r mxsml.Reader) (int, error) {
		answer, err := r.Read(ctx)
		t = vendorAnswer{Node: answer.Node(), slices: true, driver: answer.Driver, at: r.Path}
		for _, g := range t.GPUs {
			t.listed = append(t.listed, g.BDF)
		}
		return len(t.GPUs), err
	}, func(r mxsmi.Reader) error {
		answer := r.Read(ctx)
		t = vendorAnswer{Node: answer.Node, listed: answer.Listed, at: r.Path}
		return nil
	})
	if failed != nil {
		node.Warnings = append(node.Warnings, "libmxsml gives no answer: "+failed.Error())
	}
	switch {
	case err == nil:
		t.source = source
		node.Warnings = append(node.Warnings, t.Warnings...)
		return t, true, "mx-smi gave no answer"
	case h.Run == nil:
		return vendorAnswer{}, false, "" // there is only the record
	}
	return vendorAnswer{}, false, noTool + strings.Join(mxsmi.Paths(), " or ")
}
