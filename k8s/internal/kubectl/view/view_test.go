// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// fixture is the cluster that the tests of package objects make.
func fixture(t *testing.T) objects.Objects {
	t.Helper()
	text := testfile.Read(t, "../../objects/testdata/cluster.yaml")
	o, err := objects.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// document is a view as JSON, behind its text.
func document(t *testing.T, text string, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return text + "\n" + string(data) + "\n"
}

func TestGolden(t *testing.T) {
	o := fixture(t)
	o.Missing = []string{"Events are not shown: you may not list them"}
	c := NewCluster(o)
	golden.Equal(t, "testdata/cluster.txt", document(t, c.Text(), c))
	l := NewNodeList(o)
	golden.Equal(t, "testdata/nodes.txt", document(t, l.Text(), l))
	p := NewPodList(o, "", "")
	golden.Equal(t, "testdata/pods.txt", document(t, p.Text(), p))
	for _, name := range []string{"node-a", "node-b.example.com", "node-d"} {
		of := o.OfNode(name)
		if name == "node-a" { // of others, no clock is known
			of.Clocks = map[int]protocol.Clock{
				0: {UUID: uuidOf(t, of, 0), Measures: gpu.Measures{gpu.ClockMHz: 1500, gpu.ThrottleReasons: 0}},
				1: {UUID: uuidOf(t, of, 1), Measures: gpu.Measures{gpu.ClockMHz: 900, gpu.ThrottleReasons: 0x24}},
				2: {UUID: "GPU-replaced", Measures: gpu.Measures{gpu.ClockMHz: 1}},
				9: {UUID: "GPU-beyond", Measures: gpu.Measures{gpu.ClockMHz: 1}},
			}
		}
		d := NewNodeDetails(of)
		golden.Equal(t, "testdata/"+name+".txt", document(t, d.Text(), d))
	}
}

// uuidOf is that of a GPU of the first Node.
func uuidOf(t *testing.T, o objects.Objects, index int) gpu.UUID {
	t.Helper()
	return NewNodeDetails(o).GPUs[index].UUID
}

func TestPodList(t *testing.T) {
	o := fixture(t)
	for _, test := range []struct {
		namespace, name string
		want            int
	}{{"", "", 7}, {"team", "", 5}, {"team", "big", 1}, {"default", "big", 0}, {"team", "done", 0}} {
		if got := len(NewPodList(o, test.namespace, test.name).Items); got != test.want {
			t.Errorf("%s/%s: %d pods, want %d", test.namespace, test.name, got, test.want)
		}
	}
}

// TestUnhealthyDevices: what the kubelet says of the devices of a pod, as of Kubernetes 1.36,
// is in both views of it.
func TestUnhealthyDevices(t *testing.T) {
	o := fixture(t)
	at := slices.IndexFunc(o.Pods, func(p corev1.Pod) bool { return p.Name == "train-1" })
	health := func(name corev1.ResourceName, id string, is corev1.ResourceHealthStatus) corev1.ResourceStatus {
		return corev1.ResourceStatus{Name: name, Resources: []corev1.ResourceHealth{{ResourceID: corev1.ResourceID(id), Health: is}}}
	}
	o.Pods[at].Status.ContainerStatuses = []corev1.ContainerStatus{
		{AllocatedResourcesStatus: []corev1.ResourceStatus{health("metax-tech.com/gpu", "GPU-2", "Unhealthy"), health("metax-tech.com/gpu", "GPU-3", "Healthy")}},
		{AllocatedResourcesStatus: []corev1.ResourceStatus{health("metax-tech.com/gpu", "GPU-1\n", "Unhealthy"), health("other.com/nic", "nic", "Unhealthy")}},
	}
	list := NewPodList(o, "team", "train-1")
	if got := list.Items[0].Unhealthy; !slices.Equal(got, []string{"GPU-1\ufffd", "GPU-2"}) {
		t.Errorf("%q", got)
	}
	for _, text := range []string{list.Text(), NewWhy(o, &o.Pods[at]).Text()} {
		if !strings.Contains(text, "unhealthy: GPU-1\ufffd, GPU-2\n") {
			t.Error(text)
		}
	}
}

func TestTopology(t *testing.T) {
	v, err := NewTopology(fixture(t).OfNode("node-b.example.com"))
	if err != nil {
		t.Fatal(err)
	}
	var tree, matrix, svg strings.Builder
	for b, draw := range map[*strings.Builder]func() error{
		&tree: func() error { return v.Tree(&tree) }, &matrix: func() error { return v.Matrix(&matrix) }, &svg: func() error { return v.SVG(&svg) },
	} {
		if err := draw(); err != nil || b.Len() == 0 {
			t.Errorf("%d bytes, %v", b.Len(), err)
		}
	}
	golden.Equal(t, "testdata/topology.txt", document(t, tree.String()+"\n"+matrix.String(), v))
	for _, name := range []string{"node-d", "node-f"} {
		if _, err := NewTopology(fixture(t).OfNode(name)); !errors.Is(err, ErrUnknownTopology) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEmpty: no view has null where a list belongs.
func TestEmpty(t *testing.T) {
	for name, v := range map[string]any{"cluster": NewCluster(objects.Objects{}), "nodes": NewNodeList(objects.Objects{}), "pods": NewPodList(objects.Objects{}, "", "")} {
		text, err := json.Marshal(v)
		if err != nil || strings.Contains(string(text), "null") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}
