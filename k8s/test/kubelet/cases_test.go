// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// published are the rows of the picker's tests: the vendor's figures, and rows of other
// projects.
type published struct {
	Source string `json:"source"`
	Rows   []struct {
		Name string  `json:"name"`
		Node string  `json:"node"`
		Free []int   `json:"free"`
		N    int     `json:"n"`
		Want [][]int `json:"want"` // any of these; an empty list if the pod must be refused
	} `json:"rows"`
}

// TestCases has every published row through the kubelet: a pod takes the GPUs that are not
// free, which it chooses by annotation, and another gets the GPUs of the row.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("../../../internal/alloc/testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no published rows:", err)
	}
	rows := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []published
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, group := range groups {
			for _, row := range group.Rows {
				rows++
				t.Run(row.Name, func(t *testing.T) {
					got, err := pick(t, named(alloctest.Nodes()[row.Node]), row.Free, row.N)
					switch {
					case len(row.Want) == 0 && err == nil:
						t.Errorf("%s: got %v; the pod must be refused", group.Source, got)
					case len(row.Want) > 0 && (err != nil || !slices.ContainsFunc(row.Want, func(w []int) bool { return slices.Equal(w, got) })):
						t.Errorf("%s: got %v, %v; want one of %v", group.Source, got, err, row.Want)
					}
				})
			}
		}
	}
	if rows < 29 {
		t.Errorf("only %d rows", rows)
	}
}

// named gives the GPUs of a node what a real one has.
func named(node gpu.Node) gpu.Node {
	for i := range node.GPUs {
		g := &node.GPUs[i]
		g.UUID, g.BDF = gpu.UUID(fmt.Sprintf("GPU-%d", i)), gpu.BDF{Bus: uint8(i + 1)}
		g.Nodes = []string{fmt.Sprintf("/dev/dri/card%d", i+1)}
	}
	return node
}

// pick returns the GPUs of a pod with n GPUs on a node of which some are free.
func pick(t *testing.T, node gpu.Node, free []int, n int) ([]int, error) {
	k := startKubelet(t)
	d := startPlugin(t, k, node, t.TempDir())
	all := int64(len(node.GPUs))
	k.await(all, all)
	var taken []gpu.UUID
	for i, g := range node.GPUs {
		if !slices.Contains(free, i) {
			taken = append(taken, g.UUID)
		}
	}
	if len(taken) > 0 {
		busy := newPod("busy", fmt.Sprint(len(taken)))
		d.allocator.State.SetRequests([]allocate.Request{{
			Wanted: allocations.Wanted{Container: allocations.Container{UID: string(busy.UID), Namespace: "default", Pod: "busy", Name: "c0"}, Count: len(taken)},
			Choice: protocol.PodChoice{GPUs: taken},
		}})
		if err := k.admit(busy); err != nil {
			t.Fatal(err)
		}
		for i, id := range k.devices(busy, "c0") {
			if id != string(taken[i]) {
				t.Fatalf("the pod that chose %v has %v", taken, k.devices(busy, "c0"))
			}
		}
	}
	d.allocator.State.SetRequests(nil)
	pod := newPod("pod", fmt.Sprint(n))
	if err := k.admit(pod); err != nil {
		return nil, err
	}
	var got []int
	for _, id := range k.devices(pod, "c0") {
		var i int
		fmt.Sscanf(id, "GPU-%d", &i)
		got = append(got, i)
	}
	slices.Sort(got)
	return got, nil
}
