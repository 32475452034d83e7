// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// published are rows of other projects' tests and of the vendor's documents: free GPUs, a
// number, and the right sets. Indices count from 0, though some sources count from 1. The
// nodes are those of alloctest, made from what the source says about the links.
type published struct {
	Source string `json:"source"`
	Rows   []struct {
		Name string  `json:"name"`
		Node string  `json:"node"`
		Free []int   `json:"free"`
		N    int     `json:"n"`
		Want [][]int `json:"want"` // any of these; an empty list if the source picks no set
	} `json:"rows"`
}

// decidedOtherwise names the rows in which the allocation specification does not
// follow the source, and the error that it wants instead.
var decidedOtherwise = map[string]struct {
	rule string
	err  error
}{
	"full allocate not success": {
		rule: "section 3: never an empty set but an error that says why",
		err:  &InsufficientError{Need: 8, Free: 7, Of: 8},
	},
}

func TestPublished(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no published rows:", err)
	}
	otherwise := map[string]bool{}
	for _, file := range files {
		data := testfile.Read(t, file)
		var groups []published
		if err := json.Unmarshal(data, &groups); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, group := range groups {
			for _, row := range group.Rows {
				t.Run(filepath.Base(file)+"/"+row.Name, func(t *testing.T) {
					a, err := New(alloctest.Named(t, row.Node)).Pick(Request{N: row.N, Free: row.Free})
					if other, ok := decidedOtherwise[row.Name]; ok {
						otherwise[row.Name] = true
						if diff := cmp.Diff(other.err, err); diff != "" {
							t.Errorf("%s (%s) (-want +got):\n%s", group.Source, other.rule, diff)
						}
						return
					}
					if err != nil || !slices.ContainsFunc(row.Want, func(w []int) bool { return slices.Equal(w, a.GPUs) }) {
						t.Errorf("%s: got %v, %v; want one of %v", group.Source, a.GPUs, err, row.Want)
					}
				})
			}
		}
	}
	for name, other := range decidedOtherwise {
		if !otherwise[name] {
			t.Errorf("no row %q to decide by %s", name, other.rule)
		}
	}
}

// TestFixedPoints checks the picks that the allocation specification states.
func TestFixedPoints(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	// four quads of which 1, 2, 3 and 4 GPUs are free: GPU 0, 4, 8 and 12 are the
	// first of each
	quads := alloctest.Build(16, 1, 0, alloctest.Domains(16, "NODE", "NODE",
		[]int{0, 1, 2, 3}, []int{4, 5, 6, 7}, []int{8, 9, 10, 11}, []int{12, 13, 14, 15}))
	one, two, three, four := []int{0}, []int{4, 5}, []int{8, 9, 10}, []int{12, 13, 14, 15}
	onQuads := New(alloctest.Graph(t, quads))
	on := func(name string) *Picker { return New(alloctest.Named(t, name)) }
	for _, c := range []struct {
		name   string
		p      *Picker
		free   []int
		n      int
		want   []int
		policy []key.Policy // both, if nil
	}{
		{"two of a quad busy, 4", on("two quads"), []int{2, 3, 4, 5, 6, 7}, 4, []int{4, 5, 6, 7}, nil},
		{"two of a quad busy, 2", on("two quads"), []int{2, 3, 4, 5, 6, 7}, 2, []int{2, 3}, nil},
		{"MetaXLink before PCIe, 2", on("MX quad, PIX quad"), all, 2, []int{0, 1}, nil},
		{"MetaXLink before PCIe, 4", on("MX quad, PIX quad"), all, 4, []int{0, 1, 2, 3}, nil},
		{"broken MetaXLink quad, 4", on("MX quad, PIX quad"), []int{1, 2, 3, 4, 5, 6, 7}, 4, []int{4, 5, 6, 7}, nil},
		{"half a MetaXLink quad, 2", on("MX quad, PIX quad"), []int{0, 2, 4, 5, 6, 7}, 2, []int{0, 2}, nil},
		{"1 from the domain of three", on("two quads"), []int{0, 1, 4, 5, 6}, 1, []int{4}, nil},
		{"1 without links goes first", on("quad, pair and 2"), all, 1, []int{6}, nil},
		{"5 of a pair and a quad", on("two quads"), []int{2, 3, 4, 5, 6, 7}, 5, []int{2, 4, 5, 6, 7}, nil},
		{"2 beside a quad", on("two quads"), []int{0, 1, 2, 3, 4, 5}, 2, []int{4, 5}, nil},
		{"full mesh over four NUMA nodes", on("mesh over 4 NUMA"), []int{1, 2, 3, 4, 5, 6, 7}, 2, []int{2, 3}, nil},
		// a MetaXLink pair in one NUMA node: the link class outweighs the place
		{"a pair across NUMA nodes by MetaXLink", on("mesh over 4 NUMA"), []int{1, 2}, 2, []int{1, 2}, nil},

		// conflicts 1 and 2 of the specification: 1 > 3 > 2 > 4 and 2 > 3 > 4
		{"1 from a domain of one", onQuads, slices.Concat(one, two, three, four), 1, []int{0}, nil},
		{"1 from a domain of three before two", onQuads, slices.Concat(two, three, four), 1, []int{8}, nil},
		{"1 from a domain of two before four", onQuads, slices.Concat(two, four), 1, []int{4}, nil},
		{"2 from a domain of two", onQuads, slices.Concat(two, three, four), 2, two, nil},
		{"2 from a domain of three before four", onQuads, slices.Concat(three, four), 2, []int{8, 9}, nil},

		// conflict 4: containment before damage, in both policies
		{"4 within a domain though 3 and 1 would cut less", onQuads, slices.Concat(one, three, four), 4, four, nil},
		// where no domain holds them, the policies part: two pairs, or the least cut
		{"4 of two and three", on("two quads"), []int{0, 1, 4, 5, 6}, 4, []int{0, 1, 4, 5}, []key.Policy{key.Spread}},
		{"4 of two and three", on("two quads"), []int{0, 1, 4, 5, 6}, 4, []int{0, 4, 5, 6}, []key.Policy{key.Binpack}},

		// PIX pairs within PXB quads: one class and one weight, so that no pair tempts a
		// job to break the whole quad; of equal sets the nearest
		{"PCIe only, 0 and 1 busy, 2", on("PCIe only"), all[2:], 2, []int{2, 3}, nil},
		{"PCIe only, 0 and 1 busy, 4", on("PCIe only"), all[2:], 4, []int{4, 5, 6, 7}, nil},
		{"PCIe only, 2", on("PCIe only"), all, 2, []int{0, 1}, nil},
		{"PCIe only, the nearer pair", on("PCIe only"), []int{4, 6, 7}, 2, []int{6, 7}, nil},
		{"the same from a bare matrix", New(alloctest.Graph(t, alloctest.Nowhere(alloctest.Nodes()["PCIe only"]))), []int{4, 6, 7}, 2, []int{6, 7}, nil},

		// a lost link: the quad still holds a ring, three of it with the lost link do not
		{"4 around a lost link", on("degraded quads"), []int{0, 1, 2, 3, 4, 5}, 4, []int{0, 1, 2, 3}, nil},
		{"3 past a lost link", on("degraded quads"), []int{0, 1, 2, 3}, 3, []int{0, 2, 3}, nil},
	} {
		policies := c.policy
		if policies == nil {
			policies = []key.Policy{key.Spread, key.Binpack}
		}
		for _, policy := range policies {
			a, err := c.p.Pick(Request{N: c.n, Free: c.free, Policy: policy})
			if err != nil || !slices.Equal(a.GPUs, c.want) {
				t.Errorf("%s, %v: got %v, %v; want %v", c.name, policy, a.GPUs, err, c.want)
			}
		}
	}
}

// TestRequired checks that the answer has the required GPUs, and the best others.
func TestRequired(t *testing.T) {
	p := New(alloctest.Named(t, "two quads"))
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		required []int
		n        int
		want     []int
	}{
		{[]int{5}, 1, []int{5}},
		{[]int{5}, 2, []int{4, 5}},
		{[]int{5}, 4, []int{4, 5, 6, 7}},
		{[]int{3, 5}, 2, []int{3, 5}},
		{[]int{3, 5}, 4, []int{0, 3, 4, 5}},
		{all, 8, all},
	} {
		a, err := p.Pick(Request{N: c.n, Free: all, Required: c.required})
		if err != nil || !slices.Equal(a.GPUs, c.want) {
			t.Errorf("%d with %v: got %v, %v; want %v", c.n, c.required, a.GPUs, err, c.want)
		}
	}
	if _, err := p.Pick(Request{N: 2, Free: all[:4], Required: []int{5}}); !errors.Is(err, ErrUnmet) {
		t.Errorf("a required GPU that is not free: %v", err)
	}
}
