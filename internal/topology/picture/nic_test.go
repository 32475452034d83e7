// SPDX-License-Identifier: Apache-2.0

package picture_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/topology/picture"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestPublishedNICs compares the cells of c500-8 with the published topo -n of its host, of
// GPUs and network cards with each other.
func TestPublishedNICs(t *testing.T) {
	published := testfile.Read(t, "../../discover/mxsmi/testdata/topo-c500-nics.txt")
	node := simtest.Node(t, "c500-8")
	var b bytes.Buffer
	if err := picture.Matrix(&b, picture.View{Node: node}); err != nil {
		t.Fatal(err)
	}
	// rows has the words of the lines that begin with a device.
	rows := func(text string) (rows [][]string) {
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) > 8 && (strings.HasPrefix(words[0], "GPU") || strings.HasPrefix(words[0], "NIC")) {
				rows = append(rows, words)
			}
		}
		return rows
	}
	want, got := rows(string(published)), rows(b.String())
	if len(want) != 15 {
		t.Fatalf("%d rows in the published matrix", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-published +got):\n%s", diff)
	}
	if !strings.Contains(b.String(), "\nNIC Legend:\n  NIC0: mlx5_0\n") {
		t.Errorf("no legend of network cards in\n%s", b.String())
	}
}
