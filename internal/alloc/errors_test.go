// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

func TestErrors(t *testing.T) {
	quads := New(alloctest.Named(t, "two quads, SYS"))
	mesh := New(alloctest.Named(t, "mesh over 4 NUMA"))
	cube := New(alloctest.Named(t, "cube mesh"))
	pcie := New(alloctest.Named(t, "PCIe only"))
	bare := New(alloctest.Named(t, "bare matrix"))
	large := New(alloctest.Graph(t, sparse(tree.MaxGPUs+1)))
	none := New(alloctest.Graph(t, alloctest.Build(0, 1, 0, nil)))
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		name string
		p    *Picker
		r    Request
		want error
		text string
	}{
		{
			"none asked", quads,
			Request{N: 0, Free: all},
			&ArgumentError{"0 GPUs requested; want at least 1"},
			"pick GPUs: 0 GPUs requested; want at least 1",
		},
		{
			"a negative number", quads,
			Request{N: -1, Free: all},
			&ArgumentError{"-1 GPUs requested; want at least 1"},
			"pick GPUs: -1 GPUs requested; want at least 1",
		},
		{
			"an unknown free GPU", quads,
			Request{N: 1, Free: []int{0, 8}},
			&ArgumentError{"free GPU 8 is not on the node, which has 8"},
			"pick GPUs: free GPU 8 is not on the node, which has 8",
		},
		{
			"a negative GPU", quads,
			Request{N: 1, Free: []int{-1}},
			&ArgumentError{"free GPU -1 is not on the node, which has 8"},
			"pick GPUs: free GPU -1 is not on the node, which has 8",
		},
		{
			"a free GPU twice", quads,
			Request{N: 1, Free: []int{2, 0, 2}},
			&ArgumentError{"free GPU 2 is named twice"},
			"pick GPUs: free GPU 2 is named twice",
		},
		{
			"a required GPU twice", quads,
			Request{N: 2, Free: all, Required: []int{1, 1}},
			&ArgumentError{"required GPU 1 is named twice"},
			"pick GPUs: required GPU 1 is named twice",
		},
		{
			"an unknown required GPU", quads,
			Request{N: 2, Free: all, Required: []int{9}},
			&ArgumentError{"required GPU 9 is not on the node, which has 8"},
			"pick GPUs: required GPU 9 is not on the node, which has 8",
		},
		{
			"more required than asked", quads,
			Request{N: 1, Free: all, Required: []int{1, 2}},
			&ArgumentError{"1 GPUs requested, but 2 required"},
			"pick GPUs: 1 GPUs requested, but 2 required",
		},
		{
			"no such scope", quads,
			Request{N: 1, Free: all, Scope: 9},
			&ArgumentError{"scope unknown (9)"},
			"pick GPUs: scope unknown (9)",
		},
		{
			"no such size rule", quads,
			Request{N: 1, Free: all, Sizes: 9},
			&ArgumentError{"size rule unknown (9)"},
			"pick GPUs: size rule unknown (9)",
		},
		{
			"a node too large", large,
			Request{N: 1, Free: []int{0}},
			&TooLargeError{GPUs: 4097, Max: 4096},
			"pick GPUs: the node has 4097; nodes of more than 4096 are not supported",
		},

		{
			"more than there are", quads,
			Request{N: 9, Free: all},
			&InsufficientError{Need: 9, Free: 8, Of: 8},
			"9 GPUs requested, but this node has only 8",
		},
		{
			"far more than there are", quads,
			Request{N: 1e9, Free: all, Sizes: Enforce},
			&InsufficientError{Need: 1e9, Free: 8, Of: 8},
			"1000000000 GPUs requested, but this node has only 8",
		},
		{
			"nothing free", quads,
			Request{N: 1},
			&InsufficientError{Need: 1, Free: 0, Of: 8},
			"1 GPU requested, but all 8 GPUs of this node are in use or unhealthy",
		},
		{
			"no GPU at all", none,
			Request{N: 1},
			&InsufficientError{Need: 1, Free: 0},
			"1 GPU requested, but this node has no GPU",
		},

		{
			"required but busy", quads,
			Request{N: 2, Free: []int{0, 1, 2, 4}, Required: []int{2, 3}},
			&requiredError{GPUs: []int{3}, Best: []int{0, 2}},
			"required but not free: GPU 3; without this condition, the best are 0,2",
		},
		{
			"required but busy, and too few besides", quads,
			Request{N: 2, Free: []int{4}, Required: []int{1, 2}},
			&requiredError{GPUs: []int{1, 2}},
			"required but not free: GPUs 1,2",
		},
		{
			"required but busy, the others out of scope", quads,
			Request{N: 2, Free: []int{0, 4}, Required: []int{1}, Scope: key.Link},
			&requiredError{GPUs: []int{1}},
			"required but not free: GPU 1",
		},

		{
			"3 of 8", quads,
			Request{N: 3, Free: all, Sizes: Enforce},
			&sizeError{N: 3, Nearest: 4},
			"3 GPUs requested; only 1, 2, 4 or 8 are allowed, and 4 can be picked",
		},
		{
			"3 of 3", quads,
			Request{N: 3, Free: []int{0, 1, 2}, Sizes: Enforce},
			&sizeError{N: 3, Nearest: 2},
			"3 GPUs requested; only 1, 2, 4 or 8 are allowed, and 2 can be picked",
		},
		{
			"3 of 3, all required", quads,
			Request{N: 3, Free: []int{0, 1, 2}, Required: []int{0, 1, 2}, Sizes: Enforce},
			&sizeError{N: 3},
			"3 GPUs requested; only 1, 2, 4 or 8 are allowed",
		},
		{
			"6 within a link domain", quads,
			Request{N: 6, Free: all, Scope: key.Link, Sizes: Enforce},
			&sizeError{N: 6, Nearest: 4},
			"6 GPUs requested; only 1, 2, 4 or 8 are allowed, and 4 can be picked",
		},
		{
			"7 of 7", quads,
			Request{N: 7, Free: all[:7], Sizes: Enforce},
			&sizeError{N: 7, Nearest: 4},
			"7 GPUs requested; only 1, 2, 4 or 8 are allowed, and 4 can be picked",
		},

		{
			"5 by MetaXLink in quads", quads,
			Request{N: 5, Free: all, Scope: key.Link},
			&scopeError{N: 5, Scope: key.Link, Never: true, Place: true, Most: 4, Best: []int{0, 1, 2, 3, 4}, Class: topology.SYS},
			"5 GPUs requested, but a MetaXLink domain of this node has only 4; without scope link: 0-4 (SYS)",
		},
		{
			"5 under a switch of four", quads,
			Request{N: 5, Free: all, Scope: key.Switch},
			&scopeError{N: 5, Scope: key.Switch, Never: true, Place: true, Most: 4, Best: []int{0, 1, 2, 3, 4}, Class: topology.SYS},
			"5 GPUs requested, but a PCIe switch of this node has only 4; without scope switch: 0-4 (SYS)",
		},
		{
			"a NUMA node of two, whatever the links", mesh,
			Request{N: 3, Free: all, Scope: key.NUMA},
			&scopeError{N: 3, Scope: key.NUMA, Never: true, Place: true, Most: 2, Best: []int{0, 1, 2}, Class: topology.MX},
			"3 GPUs requested, but a NUMA node here has only 2; without scope numa: 0-2 (MX)",
		},
		{
			"three of a ring of four", cube,
			Request{N: 3, Free: []int{0, 1, 5, 4}, Scope: key.Link},
			&scopeError{N: 3, Scope: key.Link, Most: 2, Best: []int{0, 1, 4}, Class: topology.SYS},
			"no 3 free GPUs are joined by MetaXLink (at most 2); without scope link: 0,1,4 (SYS)",
		},
		{
			"NODE between two NUMA nodes, which is a contradiction", New(alloctest.Named(t, "quad and 4 unlinked")),
			Request{N: 5, Free: all, Scope: key.NUMA},
			&scopeError{N: 5, Scope: key.NUMA, Never: true, Place: true, Most: 4, Best: []int{0, 1, 2, 3, 4}, Class: topology.NODE},
			"5 GPUs requested, but a NUMA node here has only 4; without scope numa: 0-4 (NODE)",
		},
		{
			"required across NUMA nodes", quads,
			Request{N: 4, Free: all, Required: []int{0, 4}, Scope: key.NUMA},
			&scopeError{N: 4, Scope: key.NUMA, Never: true, Required: true, Best: []int{0, 1, 4, 5}, Class: topology.SYS},
			"no 4 GPUs of this node with the required ones are on one NUMA node; without scope numa: 0,1,4,5 (SYS)",
		},
		{
			"no MetaXLink at all", pcie,
			Request{N: 2, Free: all, Scope: key.Link},
			&scopeError{N: 2, Scope: key.Link, Never: true, Place: true, Most: 1, Best: []int{0, 1}, Class: topology.Switch},
			"2 GPUs requested, but no two GPUs of this node are joined by MetaXLink; without scope link: 0,1 (SWITCH)",
		},
		{
			"a place that is not known", bare,
			Request{N: 2, Free: []int{0, 1}, Scope: key.NUMA},
			&scopeError{N: 2, Scope: key.NUMA, Most: 1, Best: []int{0, 1}, Class: topology.MX},
			"no 2 free GPUs are on one NUMA node; without scope numa: 0,1 (MX)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := c.p.Pick(c.r)
			if diff := cmp.Diff(c.want, err); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.text, err.Error()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(Answer{}, a, cmp.AllowUnexported(key.Policy{})); diff != "" {
				t.Errorf("an answer beside the error (-want +got):\n%s", diff)
			}
			var argument *ArgumentError
			var large *TooLargeError
			sound := !errors.As(err, &argument) && !errors.As(err, &large)
			if errors.Is(err, ErrUnmet) != sound {
				t.Errorf("ErrUnmet is %v of it", !sound)
			}
		})
	}
}

// TestScopes checks answers that the scope changes or just allows.
func TestScopes(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		node string
		r    Request
		want []int
	}{
		{"two quads, SYS", Request{N: 4, Free: all, Scope: key.Link}, []int{0, 1, 2, 3}},
		{"two quads, SYS", Request{N: 4, Free: all, Scope: key.Switch}, []int{0, 1, 2, 3}},
		{"two quads, SYS", Request{N: 1, Free: []int{6}, Scope: key.Switch}, []int{6}},
		{"two quads, SYS", Request{N: 8, Free: all, Scope: key.Node}, all},
		// by MetaXLink alone, a pair across NUMA nodes would leave more behind
		{"mesh over 4 NUMA", Request{N: 2, Free: []int{1, 2, 4, 7, 6}, Scope: key.NUMA}, []int{6, 7}},
		{"cube mesh", Request{N: 8, Free: all, Scope: key.Link}, all},
		// in a bare matrix, only the class says where the GPUs sit
		{"bare matrix", Request{N: 2, Free: all, Scope: key.Switch}, []int{4, 5}},
		{"bare matrix", Request{N: 2, Free: all[:4], Scope: key.NUMA}, []int{2, 3}},
	} {
		a, err := New(alloctest.Named(t, c.node)).Pick(c.r)
		if diff := cmp.Diff(c.want, a.GPUs); diff != "" || err != nil {
			t.Errorf("%s, %+v: %v (-want +got):\n%s", c.node, c.r, err, diff)
		}
	}
}

func TestSizeWarning(t *testing.T) {
	p := New(alloctest.Named(t, "two quads"))
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		n     int
		sizes SizeRule
		want  []string
	}{
		{3, Warn, []string{"3 GPUs requested; MetaX recommends 1, 2, 4 or 8"}},
		{3, Off, nil},
		{1, Warn, nil},
		{8, Warn, nil},
		{8, Enforce, nil},
	} {
		a, err := p.Pick(Request{N: c.n, Free: all, Sizes: c.sizes})
		if diff := cmp.Diff(c.want, a.Warnings); diff != "" || err != nil || len(a.GPUs) != c.n {
			t.Errorf("%d, %v: %v, %v (-want +got):\n%s", c.n, c.sizes, a.GPUs, err, diff)
		}
	}
}
