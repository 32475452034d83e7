// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// query collects the results of one Read.
type query struct {
	ctx      context.Context
	reader   Reader
	gpus     map[gpu.BDF]*gpu.GPU
	warnings []string
}

func (q *query) warn(format string, a ...any) {
	q.warnings = append(q.warnings, fmt.Sprintf(format, a...))
}

func (q *query) run(args ...string) (string, error) {
	if err := q.ctx.Err(); err != nil {
		return "", fmt.Errorf("mx-smi %s was not run: %w", strings.Join(args, " "), err)
	}
	out, err := q.reader.Run(q.ctx, q.reader.Path, args...)
	return string(out), err
}

func (q *query) gpu(b gpu.BDF) *gpu.GPU {
	if q.gpus[b] == nil {
		q.gpus[b] = &gpu.GPU{BDF: b, NUMA: gpu.NUMAUnknown, Healthy: true}
	}
	return q.gpus[b]
}

// queryList runs `mx-smi -L` and returns the address of each of the tool's GPU numbers; nil
// if that is unknown.
func (q *query) queryList() map[int]gpu.BDF {
	text, err := q.run("-L")
	var list List
	if err == nil {
		list, err = ParseList(text)
	}
	if err != nil {
		q.warn("UUIDs and health are not known: %v", err)
		return nil
	}
	for _, w := range list.Warnings {
		q.warn("mx-smi -L: %s", w)
	}
	numbers := map[int]gpu.BDF{}
	for _, l := range list.GPUs {
		g := q.gpu(l.BDF)
		g.Model, g.UUID, g.Healthy = l.Model, l.UUID, l.Available()
		numbers[l.Index] = l.BDF
	}
	return numbers
}

func (q *query) querySerials() {
	log, err := q.querySections("--show-sn")
	if err != nil {
		q.warn("serial numbers are not known: %v", err)
		return
	}
	for _, s := range log.Sections {
		serial, err := s.Serial()
		if err != nil {
			q.warn("mx-smi --show-sn: ignored the serial number of GPU %s: %v", s.BDF, err)
			continue
		}
		g := q.gpu(s.BDF)
		switch {
		case g.Serial == "":
			g.Serial = serial
		case serial != "" && serial != g.Serial:
			q.warn("mx-smi --show-sn: GPU %s has two serial numbers, %s and %s; the first counts", s.BDF, g.Serial, serial)
		}
	}
}

// queryFirmware runs --show-version. MetaX has not published how it prints the version of the
// VBIOS, so a missing version is not a warning.
func (q *query) queryFirmware() {
	log, err := q.querySections(VersionQuery)
	if err != nil {
		return
	}
	for _, s := range log.Sections {
		q.gpu(s.BDF).VBIOS = s.VBIOS()
	}
}

// queryMemory runs --show-memory, and --show-hwinfo if that does not report memory sizes.
func (q *query) queryMemory() {
	var failed error
	for _, arg := range []string{"--show-memory", "--show-hwinfo"} {
		log, err := q.querySections(arg)
		if err != nil {
			failed = err
			continue
		}
		reported := false
		for _, s := range log.Sections {
			mib, err := s.MemoryMiB()
			if err != nil {
				q.warn("mx-smi %s: ignored the memory size of GPU %s: %v", arg, s.BDF, err)
			}
			if mib > 0 {
				reported = true
				q.gpu(s.BDF).MemoryMiB = mib
			}
		}
		if reported {
			return
		}
	}
	if failed != nil {
		q.warn("memory sizes are not known: %v", failed)
		return
	}
	q.warn("memory sizes are not known: mx-smi --show-memory and --show-hwinfo do not report them")
}

func (q *query) querySections(arg string) (Log, error) {
	text, err := q.run(arg)
	if err != nil {
		return Log{}, err
	}
	log, err := ParseSections(text)
	if err != nil {
		return Log{}, fmt.Errorf("mx-smi %s: %w", arg, err)
	}
	for _, w := range log.Warnings {
		q.warn("mx-smi %s: %s", arg, w)
	}
	return log, nil
}

// queryLinks runs `mx-smi topo -m`. The matrix has GPU numbers only, so it needs the list.
func (q *query) queryLinks(numbers map[int]gpu.BDF) map[[2]gpu.BDF]topology.Kind {
	switch {
	case numbers == nil:
		q.warn(LinksUnknown + ": the matrix of mx-smi has GPU numbers only, and mx-smi -L failed")
		return nil
	case len(numbers) < 2:
		return nil
	}
	text, err := q.run("topo", "-m")
	var m Matrix
	if err == nil {
		m, err = ParseMatrix(text)
	}
	if err != nil {
		q.warn(LinksUnknown+": %v", err)
		return nil
	}
	for _, w := range m.Warnings {
		q.warn("mx-smi topo -m: %s", w)
	}
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		if !slices.Contains(m.GPUs, n) {
			q.warn("mx-smi topo -m: GPU#%d (%s) is not in the matrix", n, numbers[n])
		}
	}
	links := map[[2]gpu.BDF]topology.Kind{}
	for i, n := range m.GPUs {
		a, ok := numbers[n]
		if !ok {
			q.warn("mx-smi topo -m: GPU%d is in the matrix, but not in the list of mx-smi -L", n)
			continue
		}
		for j, o := range m.GPUs[:i] {
			if b, ok := numbers[o]; ok && m.Kinds[i][j] != topology.Unknown {
				links[[2]gpu.BDF{a, b}] = m.Kinds[i][j]
			}
		}
	}
	return links
}

// buildNode returns the results in the order of addresses.
func (q *query) buildNode(links map[[2]gpu.BDF]topology.Kind) gpu.Node {
	node := gpu.NewNode("")
	node.Warnings = q.warnings
	at := map[gpu.BDF]int{}
	for _, b := range slices.SortedFunc(maps.Keys(q.gpus), gpu.BDF.Compare) {
		g := *q.gpus[b]
		g.Index = len(node.GPUs)
		at[b] = g.Index
		node.GPUs = append(node.GPUs, g)
	}
	for pair, kind := range links {
		a, b := at[pair[0]], at[pair[1]]
		node.Links = append(node.Links, gpu.Link{A: min(a, b), B: max(a, b), Kind: kind.String()})
	}
	gpu.SortLinks(node.Links)
	return node
}
