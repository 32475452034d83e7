package discover

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// vendorAnswer is the answer of libmxsml or mx-smi.
type vendorAnswer struct {
	gpu.Node
	// listed are the addresses of the GPUs that the source lists now; empty if the list
	// could not be read.
	listed []gpu.BDF
	source string // "libmxsml" or "mx-smi", for messages
	slices bool   // whether the source can report slices
	driver string // the driver's version; empty if the source does not report it
}

// vendor adds what only the vendor's software or the record knows, and returns the
// driver's version if libmxsml reports it. OrphanVFs of the kernel are not GPUs, even
// if the source lists them.
func (h Host) vendor(ctx context.Context, node *gpu.Node, kernel sysfs.Report) (driver string) {
	warn := func(s string) { node.Warnings = append(node.Warnings, s) }
	t, asked, why := h.query(ctx, node)
	if len(t.GPUs) > 0 {
		matchListed(node, t, kernel.OrphanVFs)
		if h.Recorded != nil {
			fillFromRecord(&t, currentPart(*h.Recorded, *node, kernel.Unsliced), node)
		}
		merge(node, t.Node, t.source)
		return t.driver
	}
	switch {
	case h.Recorded == nil && h.Run == nil:
		warn(mxsmi.LinksUnknown + ". Once per boot: sudo metax-ctk cdi generate")
		return ""
	case h.Recorded == nil:
		if !asked { // otherwise the reader has already added its warnings
			warn(mxsmi.LinksUnknown + ": " + why)
		}
		return ""
	case !hasVendorFacts(*h.Recorded):
		warn(mxsmi.LinksUnknown + ": " + unknownWhenRecorded)
	default:
		if h.Run != nil {
			warn("UUIDs, health and MetaXLink come from the recorded node: " + why)
		}
		if isUnlinked(*h.Recorded) {
			warn(mxsmi.LinksUnknown + ": " + unknownWhenRecorded)
		}
	}
	merge(node, currentPart(*h.Recorded, *node, kernel.Unsliced), "the recorded node")
	for _, g := range node.GPUs {
		if _, ok := h.Recorded.Lookup(g.BDF); !ok {
			warn("GPU " + g.BDF.String() + " is not in the recorded node")
		}
	}
	return ""
}

// query queries the library, and mx-smi if the library gives no answer. If neither
// answered, asked reports whether mx-smi was run, and why is the reason.
func (h Host) query(ctx context.Context, node *gpu.Node) (t vendorAnswer, asked bool, why string) {
	if t := h.queryLibrary(ctx, node); len(t.GPUs) > 0 {
		return t, true, ""
	}
	if h.Run == nil {
		return vendorAnswer{}, false, "" // there is only the record
	}
	path, ok := h.Root.First(mxsmi.Paths())
	if !ok {
		return vendorAnswer{}, false, "there is no mx-smi at " + strings.Join(mxsmi.Paths(), " or ")
	}
	answer := mxsmi.Reader{Run: h.Run, Path: path, Timeout: h.Timeout}.Read(ctx)
	node.Warnings = append(node.Warnings, answer.Warnings...)
	return vendorAnswer{Node: answer.Node, listed: answer.Listed, source: "mx-smi"}, true, "mx-smi gave no answer"
}

// queryLibrary queries libmxsml. A file of that name that is not libmxsml counts as
// absent; a libmxsml that fails is a warning.
func (h Host) queryLibrary(ctx context.Context, node *gpu.Node) vendorAnswer {
	path, ok := h.Root.First(mxsml.Paths())
	if h.Library == nil || !ok {
		return vendorAnswer{}
	}
	answer, err := mxsml.Reader{Run: h.Library, Path: path, Timeout: h.Timeout}.Read(ctx)
	t := vendorAnswer{Node: answer.Node(), source: "libmxsml", slices: true, driver: answer.Driver}
	if err == nil && len(t.GPUs) == 0 {
		err = fmt.Errorf("query %s: it lists no GPU", path)
	}
	switch {
	case errors.Is(err, mxsml.ErrUnusable):
		return vendorAnswer{}
	case err != nil:
		node.Warnings = append(node.Warnings, "libmxsml gives no answer: "+err.Error())
		return vendorAnswer{}
	}
	node.Warnings = append(node.Warnings, t.Warnings...)
	for _, g := range t.GPUs {
		t.listed = append(t.listed, g.BDF)
	}
	return t
}
