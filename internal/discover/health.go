// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Health takes one look at the host's GPUs: what the kernel and the driver's own files report,
// and whether the vendor's software calls them available. It asks libmxsml, or mx-smi for its
// list alone, and never uses the record. It fails with ErrNoGPU if the kernel lists no GPU. If
// the vendor's software is installed but does not answer, the Look is a failed one, and so it
// is if the driver's files do not answer, or cannot be read below a Root. A host without the
// two is judged by the kernel alone.
func (h Host) Health(ctx context.Context) (health.Look, error) {
	kernel, err := h.readKernel()
	if err != nil {
		return health.Look{}, err
	}
	var look health.Look
	var now fresh
	if !kernel.Module.Loaded && hasNoNodes(kernel) {
		look.Failed = h.notLoaded(maca.Read(h.Root).Driver)
		kernel.Warnings = nil       // they are about nodes that only the driver makes
		h.Library, h.Run = nil, nil // they do not answer without the driver
	} else {
		now = h.readLayout(kernel, false)
		look.Failed = now.lookFailure(h.Root.Real())
	}
	for _, g := range kernel.GPUs {
		r := health.Reading{
			GPU:      health.GPU{Index: g.Index, BDF: g.BDF, UUID: now.GPUs[g.BDF].UUID},
			Problems: h.kernelProblems(g, kernel.Warnings),
		}
		if p, found := now.problemOf(g); found {
			r.Problems = append(r.Problems, p)
		}
		look.Readings = append(look.Readings, r)
	}
	listed, source, err := h.vendorReadings(ctx)
	if ctxErr := ctx.Err(); errors.Is(ctxErr, context.Canceled) {
		return health.Look{}, fmt.Errorf("look at the GPUs: %w", ctxErr)
	}
	if err != nil {
		look.Failed = terminal.Line(err.Error())
	}
	if listed != nil {
		addVendor(&look, listed, source, kernel)
	}
	return look, nil
}

// kernelProblems returns the problems of a GPU that the kernel reports.
func (h Host) kernelProblems(g gpu.GPU, warnings []string) (problems []health.Problem) {
	if g.SetAside() {
		return []health.Problem{health.SetAside}
	}
	if text, down := sysfs.LinkDown(h.Root, g.BDF); down {
		problems = append(problems, health.Problem{Code: health.PCILink, Text: text})
	}
	if !g.Healthy {
		reason := "it has no device nodes"
		for _, w := range warnings {
			if _, why, ok := strings.Cut(w, g.BDF.String()+" cannot be used: "); ok {
				reason = terminal.Line(why)
				break
			}
		}
		problems = append(problems, health.Problem{Code: health.NoDeviceNodes, Text: reason})
	}
	return problems
}

// vendorReadings returns what the vendor's software lists, without indices; nil if it is not
// installed or gives no answer, which is an error.
func (h Host) vendorReadings(ctx context.Context) (listed []health.Reading, source string, err error) {
	source, failed, err := h.queryVendor(func(r mxsml.Reader) (int, error) {
		answer, err := r.Read(ctx)
		listed = answer.Health()
		return len(listed), err
	}, func(r mxsmi.Reader) error {
		list, err := r.List(ctx)
		listed = nil
		for _, l := range list.GPUs {
			r := health.Reading{GPU: health.GPU{UUID: l.UUID, BDF: l.BDF}}
			if !l.Available() {
				r.Problems = []health.Problem{{Code: health.Vendor, Text: fmt.Sprintf("mx-smi reports its state as %q", l.State)}}
			}
			listed = append(listed, r)
		}
		return err
	})
	switch {
	case errors.Is(err, errNoTool):
		return nil, "", failed
	case err != nil:
		return nil, "", err
	}
	return listed, source, nil
}

func hasVendorProblem(problems []health.Problem) bool {
	return slices.ContainsFunc(problems, func(p health.Problem) bool { return strings.HasPrefix(p.Code, health.Vendor) })
}

// addVendor adds the vendor's readings to those of the kernel. A GPU that only one of both
// lists has a problem, unless it is set aside.
func addVendor(look *health.Look, listed []health.Reading, source string, kernel sysfs.Report) {
	for i := range look.Readings {
		r := &look.Readings[i]
		at := slices.IndexFunc(listed, func(l health.Reading) bool { return l.BDF == r.BDF })
		switch {
		case at >= 0 && slices.Contains(r.Problems, health.SetAside): // the driver does not serve it, on purpose
		case at >= 0:
			r.UUID = cmp.Or(r.UUID, listed[at].UUID)
			for _, p := range listed[at].Problems {
				if !hasVendorProblem(r.Problems) { // the library's is from the same file
					r.Problems = append(r.Problems, p)
				}
			}
		case !slices.Contains(r.Problems, health.SetAside):
			r.Problems = append(r.Problems,
				health.Problem{Code: health.NotListed, Text: source + " does not list it; it may have fallen off the bus"})
		}
	}
	for _, l := range listed {
		known := slices.ContainsFunc(kernel.GPUs,
			func(g gpu.GPU) bool { return g.BDF == l.BDF || slices.Contains(g.VFs, l.BDF) })
		if known || slices.Contains(kernel.OrphanVFs, l.BDF) || l.BDF == (gpu.BDF{}) {
			continue
		}
		l.Index = -1
		l.Problems = []health.Problem{{Code: health.Missing, Text: source + " lists it, the kernel does not"}}
		look.Readings = append(look.Readings, l)
	}
}
