// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// The sources of facts beside the kernel, from the one that counts first to the one that
// counts last.
const (
	sourceLayout  = "layout"
	sourceLibrary = "libmxsml"
	sourceTool    = "mx-smi"
	SourceRecord  = "record"
	sourceKernel  = "kernel" // of a model that nothing else says
)

// Sources says where the facts of a Node come from.
type Sources struct {
	// At is where the sources are that said something: a directory or file of the host, by
	// source.
	At   map[string]string `json:"at"`
	GPUs []GPUSources      `json:"gpus"` // those of the Node, in its order
}

// GPUSources has the source of each fact about a GPU; empty if the fact is unknown. The worst
// answer about health and links counts, so all that gave one are named.
type GPUSources struct {
	Index  int      `json:"index"`
	BDF    gpu.BDF  `json:"bdf"`
	UUID   string   `json:"uuid,omitempty"`
	Serial string   `json:"serial,omitempty"`
	Model  string   `json:"model,omitempty"`
	Memory string   `json:"memory,omitempty"`
	VBIOS  string   `json:"vbios,omitempty"`
	Health []string `json:"health,omitempty"`
	Links  []string `json:"links,omitempty"`
}

// sourcesOf compares what the sources said about the GPUs of a node.
func (h Host) sourcesOf(node gpu.Node, now fresh, other vendorAnswer) Sources {
	s := Sources{At: map[string]string{}, GPUs: make([]GPUSources, len(node.GPUs))}
	if dir, ok := layout.Dir(h.Root); ok && len(now.GPUs) > 0 {
		s.At[sourceLayout] = dir
	}
	if len(other.own.GPUs) > 0 {
		s.At[other.source] = strings.TrimPrefix(other.at, strings.TrimSuffix(h.Root.Dir(), "/"))
	}
	for i, g := range node.GPUs {
		s.GPUs[i] = now.sourcesOf(g, node)
		s.GPUs[i].add(other.own, other.source)
		s.GPUs[i].add(other.record, SourceRecord)
		if s.GPUs[i].Model == "" && g.Model != "" {
			s.GPUs[i].Model = sourceKernel
		}
	}
	return s
}

// sourcesOf has what the layout says about a GPU.
func (f fresh) sourcesOf(g gpu.GPU, node gpu.Node) GPUSources {
	of := GPUSources{Index: g.Index, BDF: g.BDF}
	if f.GPUs[g.BDF].UUID != "" {
		of.UUID = sourceLayout
	}
	if f.GPUs[g.BDF].State != layout.Unknown || f.hasLost(g) {
		of.Health = []string{sourceLayout}
	}
	if slices.ContainsFunc(node.GPUs,
		func(o gpu.GPU) bool { _, ok := f.LinkKind(g.BDF, o.BDF); return ok && o.BDF != g.BDF }) {
		of.Links = []string{sourceLayout}
	}
	return of
}

// add sets the source of the facts that it knows about the GPU and that none before it knew.
func (of *GPUSources) add(node gpu.Node, source string) {
	at := slices.IndexFunc(node.GPUs, func(g gpu.GPU) bool { return g.BDF == of.BDF })
	if at < 0 {
		return
	}
	said := node.GPUs[at]
	for _, fact := range []struct {
		source *string
		known  bool
	}{
		{&of.UUID, said.UUID != ""},
		{&of.Serial, said.Serial != ""},
		{&of.Model, said.Model != ""},
		{&of.Memory, said.MemoryMiB > 0},
		{&of.VBIOS, said.VBIOS != ""},
	} {
		if *fact.source == "" && fact.known {
			*fact.source = source
		}
	}
	// The record counts only where nothing else that is not the layout has an answer.
	counts := func(known []string) bool {
		return source != SourceRecord || !slices.ContainsFunc(known, func(s string) bool { return s != sourceLayout })
	}
	if counts(of.Health) {
		of.Health = append(of.Health, source)
	}
	if len(node.GPUs) > 1 && !slices.ContainsFunc(node.Warnings, isUnlinkedWarning) && counts(of.Links) {
		of.Links = append(of.Links, source)
	}
}

// Facts are the kinds of facts that some GPU has from a source.
type Facts struct {
	Source string   `json:"source"`
	At     string   `json:"at,omitempty"` // as in Sources
	Facts  []string `json:"facts"`        // "UUID", "serial", "model", "memory", "VBIOS", "health" or "links"
}

// ByFact returns the facts by source, from the source that counts first to the one that counts
// last.
func (s Sources) ByFact() (all []Facts) {
	for _, source := range []string{sourceLayout, sourceLibrary, sourceTool, SourceRecord, sourceKernel} {
		f := Facts{Source: source, At: s.At[source]}
		for _, fact := range []struct {
			name string
			from func(GPUSources) []string
		}{
			{"UUID", func(g GPUSources) []string { return []string{g.UUID} }},
			{"serial", func(g GPUSources) []string { return []string{g.Serial} }},
			{"model", func(g GPUSources) []string { return []string{g.Model} }},
			{"memory", func(g GPUSources) []string { return []string{g.Memory} }},
			{"VBIOS", func(g GPUSources) []string { return []string{g.VBIOS} }},
			{"health", func(g GPUSources) []string { return g.Health }},
			{"links", func(g GPUSources) []string { return g.Links }},
		} {
			if slices.ContainsFunc(s.GPUs, func(g GPUSources) bool { return slices.Contains(fact.from(g), source) }) {
				f.Facts = append(f.Facts, fact.name)
			}
		}
		if f.Facts != nil {
			all = append(all, f)
		}
	}
	return all
}
