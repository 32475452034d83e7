// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// MaxGPUs is the greatest number of GPUs in a Node that is read. The largest announced MetaX
// system has 128 cards; simulations go beyond.
const MaxGPUs = 4096

// ErrNode reports a Node that contradicts itself.
var ErrNode = errors.New("invalid node")

// DecodeNode reads a Node's JSON form and checks it. GPUs may be in any order and are sorted
// by BDF, or by index if a BDF is missing; the ends of links with a > b are swapped. A GPU
// without a product gets that of its model. Unknown fields are ignored, because later versions
// of the form add fields.
func DecodeNode(data []byte) (Node, error) {
	var n Node
	if err := json.Unmarshal(data, &n); err != nil {
		return Node{}, fmt.Errorf("read node JSON: %w", err)
	}
	return n.Decoded()
}

// Decoded is DecodeNode for a Node whose JSON form was decoded together with something else.
func (n Node) Decoded() (Node, error) {
	if err := n.Check(); err != nil {
		return Node{}, err
	}
	n.sort()
	for i, g := range n.GPUs {
		n.GPUs[i].Product = cmp.Or(g.Product, ProductOf(g.Model))
	}
	return n, nil
}

// Check returns what is wrong with a Node whose parts were read one by one. The error is an
// ErrNode.
func (n Node) Check() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s", ErrNode, fmt.Sprintf(format, a...))
	}
	if n.Kind == NodeKind && n.APIVersion != APIVersion && n.APIVersion != "" {
		return fmt.Errorf("%w: %w", ErrNode, &wording.VersionError{Version: n.APIVersion})
	}
	if n.APIVersion != APIVersion || n.Kind != NodeKind {
		return bad("apiVersion %q, kind %q; want %q, %q", n.APIVersion, n.Kind, APIVersion, NodeKind)
	}
	if len(n.GPUs) > MaxGPUs {
		return bad("%d GPUs; at most %d", len(n.GPUs), MaxGPUs)
	}
	for _, text := range n.texts() {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return bad("%q has control characters", text)
		}
	}
	index := map[int]bool{}
	bdf := map[BDF]bool{}
	uuid := map[string]BDF{}
	for _, g := range n.GPUs {
		if g.Index < 0 || g.Index >= len(n.GPUs) || index[g.Index] {
			return bad("GPU %s has index %d; indices are 0 to %d, each once", g.BDF, g.Index, len(n.GPUs)-1)
		}
		if g.BDF != (BDF{}) && bdf[g.BDF] {
			return bad("PCI address %s occurs twice", g.BDF)
		}
		if key := strings.ToLower(string(g.UUID)); key != "" {
			if other, ok := uuid[key]; ok {
				return bad("GPUs %s and %s have the same UUID %s", other, g.BDF, g.UUID)
			}
			uuid[key] = g.BDF
		}
		if err := g.check(); err != nil {
			return bad("GPU %s%v", g.BDF, err)
		}
		index[g.Index], bdf[g.BDF] = true, true
	}
	if err := n.checkSliceNames(); err != nil {
		return bad("%v", err)
	}
	if err := n.checkNICs(); err != nil {
		return bad("%v", err)
	}
	if n.Shared != nil {
		if err := checkNodes(n.Shared.Nodes, n.Shared.NodeGIDs); err != nil {
			return bad("shared: %v", err)
		}
	}
	for _, l := range n.Links {
		if l.A == l.B || !index[l.A] || !index[l.B] {
			return bad("link between %d and %d; GPUs are 0 to %d", l.A, l.B, len(n.GPUs)-1)
		}
		if l.GBps < 0 {
			return bad("link between %d and %d has %g GB/s", l.A, l.B, l.GBps)
		}
	}
	return nil
}

// check returns what is wrong with a GPU by itself, to be read behind its name.
func (g GPU) check() error {
	switch {
	case g.NUMA < NUMAUnknown:
		return fmt.Errorf(" has NUMA node %d", g.NUMA)
	case g.CPUs != "" && !ValidCPUList(g.CPUs):
		return fmt.Errorf(" has the processors %.80q; want a list such as 0-31,64-95", g.CPUs)
	case g.MemoryMiB < 0:
		return fmt.Errorf(" has %d MiB of memory", g.MemoryMiB)
	case g.LinkDomain < 0:
		return fmt.Errorf(" has link domain %d", g.LinkDomain)
	case g.Serial != "" && !ValidSerial(g.Serial):
		return fmt.Errorf(" has serial number %q", g.Serial)
	}
	if err := checkNodes(g.Nodes, g.NodeGIDs); err != nil {
		return fmt.Errorf(": %w", err)
	}
	if err := g.checkSlices(); err != nil {
		return fmt.Errorf(": %w", err)
	}
	return nil
}

// texts returns the strings of a Node that may be any text. They are shown on terminals and
// in logs.
func (n Node) texts() []string {
	texts := append([]string{n.Name}, n.Warnings...)
	if n.Driver != nil {
		texts = append(texts, n.Driver.Version, n.Driver.Mode, n.Driver.Path)
	}
	if n.MACA != nil {
		texts = append(texts, n.MACA.Version, n.MACA.Path)
	}
	for _, g := range n.GPUs {
		texts = append(texts, g.Model, g.Product, g.VBIOS, g.SRIOV, g.PCIeRoot)
		for _, s := range g.Slices {
			texts = append(texts, s.Alias)
		}
	}
	for _, c := range n.NICs {
		texts = append(texts, c.Name, c.PCIeRoot)
	}
	for _, l := range n.Links {
		texts = append(texts, l.Kind)
	}
	return texts
}

// checkPaths returns an error if a path is not a plain path below /dev.
func checkPaths(paths []string) error {
	for _, p := range paths {
		rest, ok := strings.CutPrefix(p, "/dev/")
		if !ok || rest == "" || strings.ContainsFunc(p, func(r rune) bool { return r < '!' || r > '~' }) ||
			slices.ContainsFunc(strings.Split(rest, "/"), func(e string) bool { return e == "" || e == "." || e == ".." }) {
			return fmt.Errorf("device node %q; want a plain path below /dev", p)
		}
	}
	return nil
}

// sort sorts GPUs by BDF, renumbers them and the ends of links, and sorts links and slices.
func (n *Node) sort() {
	order := func(a, b GPU) int { return a.BDF.Compare(b.BDF) }
	if slices.ContainsFunc(n.GPUs, func(g GPU) bool { return g.BDF == BDF{} }) {
		order = func(a, b GPU) int { return a.Index - b.Index }
	}
	slices.SortFunc(n.GPUs, order)
	to := make([]int, len(n.GPUs))
	for i := range n.GPUs {
		to[n.GPUs[i].Index] = i
		n.GPUs[i].Index = i
		SortSlices(n.GPUs[i].Slices)
	}
	for i, l := range n.Links {
		l.A, l.B = to[l.A], to[l.B]
		if l.A > l.B {
			l.A, l.B = l.B, l.A
		}
		n.Links[i] = l
	}
	SortLinks(n.Links)
	SortNICs(n.NICs)
}
