// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Run runs a program to its end and returns its standard output. It ends the program
// when ctx ends, and fails for any exit code except 0; the error names the command.
type Run func(ctx context.Context, path string, args ...string) ([]byte, error)

// DefaultTimeout bounds all queries of a Reader together. The tool wakes sleeping GPUs,
// which takes seconds.
const DefaultTimeout = 10 * time.Second

// Paths are where the tool is installed on a host, in order of preference.
func Paths() []string { return []string{"/opt/mxdriver/bin/mx-smi", "/usr/bin/mx-smi"} }

// Reader queries a host's mx-smi.
type Reader struct {
	Run  Run
	Path string // of the tool, as Run sees it
	// Timeout bounds all queries together; 0 is DefaultTimeout.
	Timeout time.Duration
}

// List runs `mx-smi -L` alone.
func (r Reader) List(ctx context.Context) (List, error) {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	text, err := r.Run(ctx, r.Path, "-L")
	if err != nil {
		return List{}, err
	}
	list, err := ParseList(string(text))
	if err != nil {
		return List{}, fmt.Errorf("mx-smi -L: %w", err)
	}
	return list, nil
}

// withTimeout returns a context with the Reader's deadline.
func (r Reader) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(r.Timeout, DefaultTimeout))
}

// VersionQuery is the option of the query for the VBIOS alone. An mx-smi without this option
// answers all other queries.
const VersionQuery = "--show-version"

// LinksUnknown begins the warning of a Node whose MetaXLink topology is unknown.
const LinksUnknown = "MetaXLink topology unknown; choosing by PCIe and NUMA only"

// Answer is what mx-smi reported.
type Answer struct {
	// Node has each GPU's address, UUID, serial number, model, memory, VBIOS and health, in
	// the order of addresses, and a link for every pair whose kind is known.
	gpu.Node
	// Listed are the addresses of the GPUs in `mx-smi -L`, ascending; empty if the list
	// could not be read. Other queries may have reported further GPUs.
	Listed []gpu.BDF
}

// Read runs all queries. A query that fails is a warning; its facts stay empty, and
// GPUs count as healthy.
func (r Reader) Read(ctx context.Context) Answer {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	q := query{ctx: ctx, reader: r, gpus: map[gpu.BDF]*gpu.GPU{}}
	numbers := q.queryList()
	links := q.queryLinks(numbers)
	q.querySerials()
	q.queryMemory()
	q.queryFirmware()
	return Answer{Node: q.buildNode(links), Listed: slices.SortedFunc(maps.Values(numbers), gpu.BDF.Compare)}
}
