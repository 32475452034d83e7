// SPDX-License-Identifier: Apache-2.0

package simtest

import (
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// LayoutNodes is the directory of the driver's own files about GPUs, in a tree.
const LayoutNodes = "sys/devices/virtual/mxcd/mxcd/layout/nodes/"

// LayoutNode is the directory of a GPU in LayoutNodes, with a slash.
func LayoutNode(t testing.TB, tree sim.Tree, g gpu.GPU) string {
	t.Helper()
	for p, e := range tree {
		if f, ok := e.(sim.File); ok && strings.HasPrefix(p, LayoutNodes) && path.Base(p) == "location" && strings.TrimSpace(f.Data) == g.BDF.String() {
			return path.Dir(p) + "/"
		}
	}
	t.Fatalf("GPU %s has no node in the layout", g.BDF)
	return ""
}

// WithoutLayout removes the driver's own files about GPUs from a tree, as on a host with an
// older driver, and returns it.
func WithoutLayout(tree sim.Tree) sim.Tree {
	layout := path.Dir(strings.TrimSuffix(LayoutNodes, "/")) + "/"
	maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool { return strings.HasPrefix(p, layout) })
	return tree
}
