// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// showOverview is what metax-ctk prints without a command: the node in a few lines, and what
// to type next.
func (t toolkit) showOverview(c *cli.Context) error {
	if c.Args().Present() {
		return showSubcommands(c)
	}
	node, err := t.loadNode(c)
	if err != nil {
		if errors.Is(err, discover.ErrNoGPU) {
			err = fmt.Errorf("%w; all commands: metax-ctk --help", err)
		}
		return err
	}
	holders, err := t.findHolders(c, node)
	if err != nil {
		t.warn(err.Error())
	}
	var out strings.Builder
	say := func(label, format string, a ...any) {
		fmt.Fprintf(&out, "%-11s "+format+"\n", append([]any{label}, a...)...)
	}
	say("node", "%s: %s", node.Name, modelsOf(node))
	say("driver", "%s", versionsOf(node))
	for _, side := range groupsBy(node, func(g gpu.GPU) int { return g.NUMA }) {
		if side.by != gpu.NUMAUnknown {
			say(fmt.Sprintf("NUMA %d", side.by), "GPU %s", wording.Ranges(side.gpus))
		}
	}
	say("MetaXLink", "%s", linksOf(node))
	for _, line := range topology.Lost(node).Lines() {
		say("", "%s", line)
	}
	say("free", "%s", freeOf(node, holders))
	if t.nodeSelector(c).IsHost() {
		say("CDI", "%s", t.specsOf(c))
	}
	out.WriteString("\n")
	say("next", "metax-ctk topology print, ps, top, pick 4, doctor; all commands: metax-ctk --help")
	t.endWarnings()
	_, err = fmt.Fprint(t.Out, terminal.Wrap(terminal.Lines(out.String()), terminalWidth(t.Out)))
	return err
}

// modelsOf counts the GPUs of each product, with their memory.
func modelsOf(n gpu.Node) string {
	var names []string
	count := map[string]int{}
	for _, g := range n.GPUs {
		name := g.Product
		if name == "" {
			name = "GPU"
		}
		if g.MemoryMiB > 0 {
			name += fmt.Sprintf(" of %d GiB", g.MemoryMiB/1024)
		}
		count[name]++
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d × %s", count[name], name)
	}
	return strings.Join(names, ", ")
}

// versionsOf names the versions of the driver and of MXMACA.
func versionsOf(n gpu.Node) string {
	driver, software := "version not known", "no MXMACA in /opt/maca"
	if n.Driver != nil && n.Driver.Version != "" {
		driver = n.Driver.Version
	}
	if n.MACA != nil {
		software = strings.TrimSpace("MXMACA " + n.MACA.Version)
	}
	return driver + ", " + software
}

// gpusBy are the GPUs that have a number in common.
type gpusBy struct {
	by   int
	gpus []int
}

// groupsBy divides the GPUs by a number of each, in the order of the numbers.
func groupsBy(n gpu.Node, number func(gpu.GPU) int) (groups []gpusBy) {
	for _, g := range n.GPUs {
		at, found := slices.BinarySearchFunc(groups, number(g), func(a gpusBy, by int) int { return a.by - by })
		if !found {
			groups = slices.Insert(groups, at, gpusBy{by: number(g)})
		}
		groups[at].gpus = append(groups[at].gpus, g.Index)
	}
	return groups
}

// linksOf names the domains of MetaXLink.
func linksOf(n gpu.Node) string {
	var domains []string
	for _, d := range groupsBy(n, func(g gpu.GPU) int { return g.LinkDomain }) {
		if d.by > 0 {
			domains = append(domains, fmt.Sprintf("domain %d: GPU %s", d.by, wording.Ranges(d.gpus)))
		}
	}
	switch {
	case discover.LinksUnknown(n):
		return "not known"
	case domains == nil:
		return "none"
	}
	return strings.Join(domains, "; ")
}

// freeOf names the GPUs that a container can get now, and counts the others.
func freeOf(n gpu.Node, holders []usage.Holder) string {
	free := assign.Free(n, holders)
	text := fmt.Sprintf("%d of %s", len(free), wording.Count(len(n.GPUs), "GPU"))
	if len(free) > 0 {
		text += ": GPU " + wording.Ranges(free)
	}
	if out := len(n.GPUs) - len(n.Healthy()); out > 0 {
		text += fmt.Sprintf("; %d unhealthy or divided into slices", out)
	}
	return text
}

// specsOf counts the devices of the CDI specs of GPUs.
func (t toolkit) specsOf(c *cli.Context) string {
	host, err := hostfs.New(t.nodeSelector(c).Root)
	if err != nil {
		return err.Error()
	}
	kind := cdi.Kind(cdi.DefaultVendor, "gpu")
	if found := cdi.List(host, cdi.Dirs(), kind); len(found.Devices) > 0 {
		return fmt.Sprintf("%d devices of kind %s, such as %s", len(found.Devices), kind, found.Devices[0].Name)
	}
	return "no spec of the GPUs: sudo metax-ctk cdi generate"
}
