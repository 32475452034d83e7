// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// property is a property of a GPU (UUID, memory, …) that trees and cards show.
type property struct {
	names   string // its name, for all GPUs
	missing string // shown for a GPU without it if other GPUs have it
	beside  bool   // a card shows it beside the one before
	of      func(gpu.GPU) string
}

// gpuProperties returns all properties, in the order in which they are shown.
func gpuProperties() []property {
	return []property{
		{names: "models", missing: "model ?", beside: false, of: func(g gpu.GPU) string { return terminal.Line(g.Model) }},
		{names: "memory", missing: "memory ?", beside: true, of: func(g gpu.GPU) string { return memorySize(g.MemoryMiB) }},
		{names: "PCI addresses", missing: "address ?", beside: false, of: pciAddress},
		{names: "device nodes", missing: "no device nodes", beside: false, of: deviceNodes},
		{names: "UUIDs", missing: "UUID ?", beside: false, of: func(g gpu.GPU) string { return shortUUID(g.UUID) }},
	}
}

// setProperties separates the properties that are known of at least one GPU from the
// others.
func (s *checkedView) setProperties() {
next:
	for _, p := range gpuProperties() {
		for _, g := range s.gpus {
			if p.of(g) != "" {
				s.properties = append(s.properties, p)
				continue next
			}
		}
		s.unknown = append(s.unknown, p.names)
	}
}

// textFor returns what is shown for one GPU.
func (p property) textFor(g gpu.GPU) string {
	if word := p.of(g); word != "" {
		return word
	}
	return p.missing
}

// unknownProperties returns a line that names the properties that are unknown for all GPUs;
// it is empty if there is none.
func (s *checkedView) unknownProperties() string {
	if len(s.unknown) == 0 || len(s.gpus) == 0 {
		return ""
	}
	return "not known: " + strings.Join(s.unknown, ", ")
}

// memorySize returns an amount of memory as text; it is empty if unknown.
func memorySize(mib int) string {
	switch {
	case mib <= 0:
		return ""
	case mib%1024 == 0:
		return fmt.Sprintf("%d GiB", mib/1024)
	}
	return fmt.Sprintf("%d MiB", mib)
}

// pciAddress returns a GPU's PCI address; it is empty if unknown.
func pciAddress(g gpu.GPU) string {
	if g.BDF == (gpu.BDF{}) {
		return ""
	}
	return g.BDF.String()
}

// deviceNodes returns the names of a GPU's device nodes, without directories.
func deviceNodes(g gpu.GPU) string {
	var names []string
	for _, n := range g.Nodes {
		names = append(names, terminal.Line(n[strings.LastIndexByte(n, '/')+1:]))
	}
	return strings.Join(names, " ")
}

// shortUUID returns the first part of a UUID, which is enough to distinguish the GPUs of a
// node.
func shortUUID(u gpu.UUID) string {
	const shown = len("GPU-3fd4ee8f")
	if len(u) <= shown {
		return terminal.Line(string(u))
	}
	return terminal.Line(string(u[:shown])) + "…"
}
