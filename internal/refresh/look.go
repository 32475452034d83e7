// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// software is what MXMACA is called among the names of what a node has.
const software = "MXMACA"

// newSettler waits for the job's host.
func (j Job) newSettler() *settler {
	return &settler{
		look:  looking(j.Host),
		limit: j.Settle, partial: j.Options.Partial, known: known(j.outputRoot(), j.Options.Vendor),
		now: time.Now, pause: sleepContext,
	}
}

// looking returns a look at what the kernel shows and at what is installed. It runs no
// vendor's program, because it is done often, and while a driver comes up.
func looking(host *hostfs.Root) func() (observation, error) {
	// The file that is looked for may be large; once is enough.
	module := sync.OnceValue(func() sysfs.Module { return sysfs.ReadModule(host, nil) })
	return func() (observation, error) { return look(host, module) }
}

func look(host *hostfs.Root, module func() sysfs.Module) (observation, error) {
	kernel, err := sysfs.Read(host)
	if err != nil {
		return observation{}, fmt.Errorf("read PCI devices: %w", err)
	}
	all, _, err := maca.All(host)
	if err != nil && !errors.Is(err, maca.ErrNone) {
		all = nil // the specs of the GPUs do not wait for it
	}
	text, err := json.Marshal([]any{kernel, all})
	if err != nil {
		return observation{}, fmt.Errorf("encode the node for comparison: %w", err)
	}
	g := observation{fingerprint: string(text), lacks: lacking(kernel)}
	for _, card := range kernel.GPUs {
		g.here = append(g.here, card.BDF.String())
	}
	if len(all) > 0 {
		g.here = append(g.here, software)
	}
	switch {
	case len(kernel.GPUs) == 0:
		g.none = fmt.Errorf("%w on the PCI bus", discover.ErrNoGPU)
	case !kernel.Module.Loaded && bare(kernel):
		g.driver = noDriver("the kernel module metax is not loaded")
		// One that is there but cannot be read has a warning.
		if m := module(); m.File == "" && len(m.Warnings) == 0 {
			g.none = noDriver("the running kernel has no module metax")
		}
	}
	return g, nil
}

// bare reports whether no GPU has a device node.
func bare(kernel sysfs.Report) bool {
	return kernel.Shared == nil && !slices.ContainsFunc(kernel.GPUs, func(g gpu.GPU) bool { return len(g.Nodes) > 0 })
}

// lacking says what a node has to get before its specs can be made.
func lacking(kernel sysfs.Report) string {
	var without []string
	for _, g := range kernel.GPUs {
		if _, divided := g.Divided(); !divided && !g.SetAside() && len(g.Nodes) == 0 {
			without = append(without, g.BDF.String())
		}
		for _, s := range g.Slices {
			if s.Kind == gpu.SliceSGPU && len(s.Nodes) == 0 {
				without = append(without, "slice "+s.Name())
			}
		}
	}
	switch {
	case len(without) > 0:
		return "there are no device nodes of " + strings.Join(without, ", ")
	case lacksControlNode(gpu.Node{Shared: kernel.Shared}):
		return control + " is missing"
	}
	return ""
}

// known are the GPUs, and MXMACA, that the specs at hand and the record name.
// The record is written with the specs, but the last boot's are gone with it, unless
// they are in /etc/cdi.
func known(host *hostfs.Root, vendor string) []string {
	var names []string
	if text, err := host.ReadFile(node.RecordPath); err == nil {
		if recorded, err := gpu.DecodeNode(text); err == nil {
			for _, g := range recorded.GPUs {
				names = append(names, g.BDF.String())
			}
		}
	}
	for _, class := range []string{cdi.DefaultClass, cdi.SoftwareClass} {
		kind := cdi.Kind(vendor, class)
		for _, d := range cdi.List(host, cdi.Dirs(), kind).Devices {
			name := strings.TrimPrefix(d.Name, kind+"=")
			if _, err := gpu.ParseBDF(name); err == nil {
				names = append(names, name)
			}
			if class == cdi.SoftwareClass {
				names = append(names, software)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
