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

// told is what a source of the vendor's told.
type told struct {
	gpu.Node
	// listed are the addresses of the GPUs that the source lists now; none if it
	// could not tell.
	listed []gpu.BDF
	source string // its name, for people
	slices bool   // whether it tells the slices of GPUs, if there are any
	driver string // the driver's version, empty if the source does not tell it
}

// vendor adds what only the vendor's software knows, or what it said before, and
// returns the driver's version if it told that. What the kernel calls strays is no
// GPU, even if it lists them.
func (h Host) vendor(ctx context.Context, node *gpu.Node, kernel sysfs.Report) (driver string) {
	warn := func(s string) { node.Warnings = append(node.Warnings, s) }
	t, asked, why := h.ask(ctx, node)
	if len(t.GPUs) > 0 {
		compare(node, t, kernel.OrphanVFs)
		if h.Recorded != nil {
			complete(&t, recall(*h.Recorded, *node, kernel.Unsliced), node)
		}
		merge(node, t.Node, t.source)
		return t.driver
	}
	switch {
	case h.Recorded == nil && h.Run == nil:
		warn(mxsmi.Unlinked + ". Once per boot: sudo metax-ctk cdi generate")
		return ""
	case h.Recorded == nil:
		if !asked { // else the reader has said already what is not known
			warn(mxsmi.Unlinked + ": " + why)
		}
		return ""
	case !isTold(*h.Recorded):
		warn(mxsmi.Unlinked + ": neither libmxsml nor mx-smi had told anything when the node was recorded")
	default:
		if h.Run != nil {
			warn("UUIDs, health and MetaXLink are as recorded before: " + why)
		}
		if isUnlinked(*h.Recorded) {
			warn(mxsmi.Unlinked + ": " + notThen)
		}
	}
	merge(node, recall(*h.Recorded, *node, kernel.Unsliced), "the recorded node")
	for _, g := range node.GPUs {
		if _, ok := h.Recorded.Lookup(g.BDF); !ok {
			warn("the recorded node does not know GPU " + g.BDF.String())
		}
	}
	return ""
}

// ask asks the library, and where that does not tell, mx-smi. If neither told
// anything, asked reports whether mx-smi was run, and why what came of that.
func (h Host) ask(ctx context.Context, node *gpu.Node) (t told, asked bool, why string) {
	if t := h.askLibrary(ctx, node); len(t.GPUs) > 0 {
		return t, true, ""
	}
	if h.Run == nil {
		return told{}, false, "" // there is only the record
	}
	path, ok := mxsmi.Find(h.Root)
	if !ok {
		return told{}, false, "there is no mx-smi at " + strings.Join(mxsmi.Paths(), " or ")
	}
	answer := mxsmi.Reader{Run: h.Run, Path: path, Timeout: h.Timeout}.Read(ctx)
	node.Warnings = append(node.Warnings, answer.Warnings...)
	return told{Node: answer.Node, listed: answer.Listed, source: "mx-smi"}, true, "mx-smi told nothing"
}

// askLibrary asks libmxsml. A file of that name that is no libmxsml is as good as
// none; one that fails is worth a warning.
func (h Host) askLibrary(ctx context.Context, node *gpu.Node) told {
	path, ok := mxsml.Find(h.Root)
	if h.Library == nil || !ok {
		return told{}
	}
	answer, err := mxsml.Reader{Run: h.Library, Path: path, Timeout: h.Timeout}.Read(ctx)
	t := told{Node: answer.Node(), source: "libmxsml", slices: true, driver: answer.Driver}
	if err == nil && len(t.GPUs) == 0 {
		err = fmt.Errorf("ask %s: it knows no GPU", path)
	}
	switch {
	case errors.Is(err, mxsml.ErrUnusable):
		return told{}
	case err != nil:
		node.Warnings = append(node.Warnings, "libmxsml tells nothing: "+err.Error())
		return told{}
	}
	node.Warnings = append(node.Warnings, t.Warnings...)
	for _, g := range t.GPUs {
		t.listed = append(t.listed, g.BDF)
	}
	return t
}
