// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// row is a published choice of GPUs: want are those of n when only free are.
type row struct {
	Name string  `json:"name"`
	Node string  `json:"node"`
	Free []int   `json:"free"`
	N    int     `json:"n"`
	Want [][]int `json:"want"` // any of these
}

// TestQuads has the published rows for a node with two MetaXLink domains of four GPUs, those
// of the vendor's manual among them. test/kubelet has the rows for other nodes.
func TestQuads(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.install(t)
	rows := published(t, "two quads")
	if len(rows) < 5 {
		t.Fatalf("only %d rows", len(rows))
	}
	for i, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			n.hold(t, row.Free)
			name := fmt.Sprint("row-", i)
			if got := n.seen(t, n.look(t, name, row.N)); !slices.ContainsFunc(row.Want, func(want []int) bool { return slices.Equal(want, got) }) {
				t.Errorf("of %d free, %d GPUs are %d, want one of %d", row.Free, row.N, got, row.Want)
			}
			n.remove(t, name)
			n.remove(t, "holder")
		})
	}
}

// published are the rows of the picker's tests for a kind of node.
func published(t *testing.T, kind string) (rows []row) {
	t.Helper()
	files, err := filepath.Glob("../../../internal/alloc/testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Rows []row `json:"rows"`
		}
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, group := range groups {
			for _, row := range group.Rows {
				if row.Node == kind {
					rows = append(rows, row)
				}
			}
		}
	}
	return rows
}

// hold runs the pod holder, which chooses all GPUs but those that are free, until it has them:
// a plugin that does not know the pod yet gives it others.
func (n *node) hold(t *testing.T, free []int) {
	t.Helper()
	var want []int
	var uuids []string
	for i, g := range n.gpus {
		if !slices.Contains(free, i) {
			want, uuids = append(want, i), append(uuids, g.UUID)
		}
	}
	pod := probePod("holder", len(want), "wait")
	pod.Annotations = map[string]string{"metax-ctk.io/gpus": strings.Join(uuids, ",")}
	wait(t, "pod holder", func(context.Context) error {
		n.create(t, pod)
		n.phase(t, "holder", corev1.PodRunning)
		given := n.given(t, "holder")
		if slices.Equal(given, want) {
			return nil
		}
		n.remove(t, "holder")
		return fmt.Errorf("it has the GPUs %d, want %d", given, want)
	})
}
