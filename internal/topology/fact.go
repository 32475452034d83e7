package topology

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// fact is something that trees and cards say of a GPU.
type fact struct {
	names   string // of the fact, for all GPUs
	missing string // what stands for it where only other GPUs have it
	beside  bool   // on a card it stands beside the one before
	of      func(gpu.GPU) string
}

func facts() []fact {
	return []fact{
		{"models", "model ?", false, func(g gpu.GPU) string { return terminal.Line(g.Model) }},
		{"memory", "memory ?", true, func(g gpu.GPU) string { return memory(g.MemoryMiB) }},
		{"PCI addresses", "address ?", false, address},
		{"device nodes", "no device nodes", false, deviceNodes},
		{"UUIDs", "UUID ?", false, func(g gpu.GPU) string { return short(g.UUID) }},
	}
}

// setFacts parts what is known of at least one GPU from what is known of none.
func (s *scene) setFacts() {
next:
	for _, f := range facts() {
		for _, g := range s.gpus {
			if f.of(g) != "" {
				s.known = append(s.known, f)
				continue next
			}
		}
		s.unknown = append(s.unknown, f.names)
	}
}

// say is the fact of one GPU.
func (f fact) say(g gpu.GPU) string {
	if word := f.of(g); word != "" {
		return word
	}
	return f.missing
}

// notKnown is the line that names what is known of no GPU; empty if there is
// nothing to name.
func (s *scene) notKnown() string {
	if len(s.unknown) == 0 || len(s.gpus) == 0 {
		return ""
	}
	return "not known: " + strings.Join(s.unknown, ", ")
}

func memory(mib int) string {
	switch {
	case mib <= 0:
		return ""
	case mib%1024 == 0:
		return fmt.Sprintf("%d GiB", mib/1024)
	}
	return fmt.Sprintf("%d MiB", mib)
}

func address(g gpu.GPU) string {
	if g.BDF == (gpu.BDF{}) {
		return ""
	}
	return g.BDF.String()
}

// deviceNodes names a GPU's device nodes without their directories.
func deviceNodes(g gpu.GPU) string {
	var names []string
	for _, n := range g.Nodes {
		names = append(names, terminal.Line(n[strings.LastIndexByte(n, '/')+1:]))
	}
	return strings.Join(names, " ")
}

// short is as much of a UUID as tells the GPUs of a node apart at a glance.
func short(u gpu.UUID) string {
	const shown = len("GPU-3fd4ee8f")
	if len(u) <= shown {
		return terminal.Line(string(u))
	}
	return terminal.Line(string(u[:shown])) + "…"
}
