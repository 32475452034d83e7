// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// BenchmarkRead reads the layout of a node beside the plain reads of the same files.
func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"c500-8", "superpod-64"} {
		node, tree := simtest.Host(b, name)
		host := simtest.Write(b, tree)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if l := layout.Read(host, true); len(l.GPUs) != len(node.GPUs) {
					b.Fatalf("%d GPUs", len(l.GPUs))
				}
			}
		})
		b.Run(name+"/plain", func(b *testing.B) {
			dir, _ := layout.Dir(host)
			for b.Loop() {
				plain(b, host.Join(dir))
			}
		})
	}
}

// plain reads the files that Read reads, and no other.
func plain(b *testing.B, dir string) {
	nodes, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range nodes {
		at := filepath.Join(dir, n.Name())
		for _, file := range layout.NodeFiles {
			_, _ = os.ReadFile(filepath.Join(at, file))
		}
		for _, links := range layout.LinkDirs {
			rows, _ := os.ReadDir(filepath.Join(at, links))
			for _, row := range rows {
				_, _ = os.ReadFile(filepath.Join(at, links, row.Name(), layout.LinkFile))
			}
		}
	}
}
