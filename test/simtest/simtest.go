// SPDX-License-Identifier: Apache-2.0

// Package simtest gives tests the hosts of simulated nodes.
package simtest

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// Node returns a simulated node.
func Node(t testing.TB, name string) gpu.Node {
	t.Helper()
	node, err := sim.Node(name)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// Host returns a simulated node and the file tree of its host.
func Host(t testing.TB, name string) (gpu.Node, sim.Tree) {
	t.Helper()
	node := Node(t, name)
	tree, err := sim.HostTree(node)
	if err != nil {
		t.Fatal(err)
	}
	return node, tree
}

// Write writes a tree into a directory of the test.
func Write(t testing.TB, tree sim.Tree) *hostfs.Root {
	t.Helper()
	dir := t.TempDir()
	if err := tree.Write(dir); err != nil {
		t.Fatal(err)
	}
	return Root(t, dir)
}

// Root opens the directory that stands for a host's root directory.
func Root(t testing.TB, dir string) *hostfs.Root {
	t.Helper()
	root, err := hostfs.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return root
}
