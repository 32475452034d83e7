// SPDX-License-Identifier: Apache-2.0

package discover_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestDiscoverDamage damages one thing of a host at a time. Either the node is found as
// before, or a warning or the error says what is wrong. The other GPU is never lost,
// and if the tool can be asked, it keeps its index.
func TestDiscoverDamage(t *testing.T) {
	const name = "sim:1x1x2"
	want, tree := simtest.Node(t, name), hostTree(t, name)
	root := simtest.Write(t, tree)
	other := want.GPUs[1]
	addresses := []string{want.GPUs[0].BDF.String(), other.BDF.String()}
	node := simtest.LayoutNode(t, tree, other)
	saved := filepath.Join(t.TempDir(), "saved")
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		if isOthers(path, other) || strings.HasPrefix(path, node) {
			continue
		}
		for _, damage := range []struct {
			name string
			do   func(path string) error
		}{
			{"gone", func(string) error { return nil }},
			{"empty", func(path string) error { return os.WriteFile(path, nil, 0o644) }},
			{"garbage", func(path string) error { return os.WriteFile(path, []byte("\x00\xff\x1b[2J\n:"), 0o644) }},
			{"a directory", func(path string) error { return os.Mkdir(path, 0o755) }},
			{"a loop", func(path string) error { return os.Symlink(path, path) }},
			{"a link out", func(path string) error { return os.Symlink("/../../../../etc", path) }},
		} {
			t.Run(damage.name+"/"+path, func(t *testing.T) {
				at := root.Join(path)
				if err := os.Rename(at, saved); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := os.RemoveAll(at); err != nil {
						t.Fatal(err)
					}
					if err := os.Rename(saved, at); err != nil {
						t.Fatal(err)
					}
				}()
				if err := damage.do(at); err != nil {
					t.Fatal(err)
				}
				got, err := discover.Host{Surroundings: true, Root: root, Recorded: &want}.Discover(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := got.Check(); err != nil {
					t.Error(err)
				}
				live, err := discover.Host{Surroundings: true, Root: root, Recorded: &want, Run: tool(addresses, "GPU0 GPU1\nGPU0 X MX\nGPU1 MX X")}.Discover(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if g, _ := live.Lookup(other.BDF); g.Index != other.Index || !g.Healthy {
					t.Errorf("by the tool, the other GPU is %+v", g)
				}
				if g, _ := got.Lookup(other.BDF); g.UUID != other.UUID || !g.Healthy {
					t.Errorf("the other GPU is %+v", g)
				}
				if mayBeAbsent(path) {
					return
				}
				if diff := cmp.Diff(want, got); diff != "" && len(got.Warnings) == 0 {
					t.Errorf("no warning of this: %s", diff)
				}
			})
		}
	}
}

// isOthers reports whether a path belongs to the undamaged GPU or to a bridge above
// both.
func isOthers(path string, other gpu.GPU) bool {
	return strings.Contains("/"+path+"/", "/"+other.BDF.String()+"/") ||
		slices.Contains(other.Nodes, "/"+path)
}

// mayBeAbsent reports whether a host may lack the file at path, or have an empty file
// there.
func mayBeAbsent(path string) bool {
	return strings.HasSuffix(path, "/numa_node") || strings.HasSuffix(path, "/local_cpulist") || strings.HasSuffix(path, "/sriov_totalvfs") || path == "etc/hostname" || path == "opt/maca"
}
