// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestFixture makes testdata/cluster.yaml, which the tests of several packages read: a cluster
// as kubectl would print it, with annotations as metax-gpu-device writes them.
func TestFixture(t *testing.T) {
	b, c := node(t, "node-b.example.com", 8), node(t, "node-c", 8)
	annotate(t, &b, "c500-8", protocol.NodeState{Generation: 9, GPUs: 8, Free: []int{0, 1, 2}, Unhealthy: []int{3}, Outside: []int{6, 7}})
	b.Status.Allocatable[protocol.Resource] = resource.MustParse("5")
	b.Status.Conditions = append(b.Status.Conditions, corev1.NodeCondition{
		Type: protocol.UnhealthyCondition, Status: corev1.ConditionTrue, Reason: "GPUsUnhealthy", Message: "GPU 3 (0000:12:00.0): unhealthy: fell off the bus",
	})
	annotate(t, &c, "c550-8", protocol.NodeState{Generation: 1, GPUs: 8, Free: []int{0, 1, 2, 3, 4, 5, 6, 7}})
	c.Spec.Unschedulable = true
	c.Labels[protocol.LabelProduct] = "C550"
	a := node(t, "node-a", 8)
	annotate(t, &a, "c500-8", protocol.NodeState{Generation: 3, GPUs: 8, Free: []int{4, 5, 6, 7}})
	vendor := node(t, "node-d", 8)
	vendor.Annotations = map[string]string{protocol.ScoresAnnotation: `{"1":0,"2":110}`, protocol.LossesAnnotation: `{"1":330,"2":440}`}
	slices := node(t, "node-e", 0)
	slices.Status.Capacity = corev1.ResourceList{protocol.SliceResource: resource.MustParse("128")}
	slices.Status.Allocatable = slices.Status.Capacity
	slices.Status.Conditions[0].Status, slices.Status.Conditions[0].Message = corev1.ConditionFalse, "Kubelet stopped posting node status."
	broken := node(t, "node-f", 8)
	broken.Annotations = map[string]string{protocol.NodeAnnotation: `{"version":9}`, protocol.StateAnnotation: "{}"}
	bare := node(t, "node-g", 0)
	bare.Labels[protocol.LabelInstalled] = "true"
	cpu := node(t, "node-h", 0)
	cpu.Labels = nil

	big := pod("team", "big", "", protocol.Resource, 8)
	big.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "0/8 nodes are available: 6 Insufficient metax-tech.com/gpu, 1 node(s) were unschedulable.",
	}}
	four := pod("default", "four", "", protocol.Resource, 4)
	four.Annotations = map[string]string{protocol.PolicyAnnotation: "binpack"}
	done := pod("team", "done", "node-a", protocol.Resource, 8)
	done.Status.Phase = corev1.PodSucceeded
	program := pod("metax-gpu-extensions", "metax-gpu-device-x7f2p", "node-b.example.com", "", 0)
	program.Labels = map[string]string{"app.kubernetes.io/part-of": protocol.Chart, "app.kubernetes.io/name": protocol.Device, "team": "secret"}
	program.Spec.Containers[0].Image = "registry.example.com/team/gpu-device:1.2.3"
	// A name that is a word of the annotations.
	train := pod("default", "model", "node-a", protocol.Resource, 4)
	train.Spec.Containers[0].Name = "uuid"
	train.Annotations = map[string]string{protocol.GivenAnnotation: given(t, &a, 0, 1, 2, 3)}
	train.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TOKEN", Value: "hunter2"}}

	items := []any{
		c, vendor, slices, broken, bare, cpu, a, b,
		big, four, done, train, program,
		pod("team", "train-1", "node-b.example.com", protocol.Resource, 2), pod("team", "infer", "node-d", protocol.Resource, 2), pod("team", "old", "node-f", protocol.Resource, 8),
		pod("team", "slice", "node-e", protocol.SliceResource, 1), pod("team", "web", "node-a", "", 0),
		event("default", "Node", "", "node-b.example.com", "MetaXGPUUnhealthy", "GPU 3 (0000:12:00.0): unhealthy: fell off the bus of node-b.example.com", 20),
		event("default", "Node", "", "node-b.example.com", "MetaXGPULeased", "GPU 6 is in use by lease 4f", 10),
		event("metax-gpu-extensions", "Pod", "metax-gpu-extensions", "metax-gpu-device-x7f2p", "Pulling", "Pulling image \"registry.example.com/team/gpu-device:1.2.3\"", 5),
		event("team", "Pod", "team", "big", "FailedScheduling", "0/8 nodes are available", 30),
		event("team", "Pod", "team", "web", "Pulled", "image example.com/web", 30),
		corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: protocol.ConfigMapName, Namespace: protocol.Namespace},
			Data: map[string]string{"version": "v1", "cluster-config": "mode: native\n", "nodes-config": "- {nodeName: retired-node, mode: sgpu}\n- {nodeSelector: {pool/secret: a}, mode: vgpu}\n"},
		},
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/cluster.yaml", text)
}

func node(t *testing.T, name string, gpus int64) corev1.Node {
	t.Helper()
	n := corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{"kubernetes.io/hostname": name, "example.com/rack": "r7", protocol.LabelInstalled: "true", protocol.LabelProduct: "C500", protocol.LabelDriverMajor: "3", protocol.LabelDriverMinor: "4", protocol.LabelDriverPatch: "4"},
		},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.1.2.3"}, {Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}},
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.34.4", ContainerRuntimeVersion: "containerd://2.1.0", MachineID: "f00dcafe", Architecture: "amd64"},
		},
	}
	if gpus > 0 {
		q := *resource.NewQuantity(gpus, resource.DecimalSI)
		n.Status.Capacity = corev1.ResourceList{protocol.Resource: q, corev1.ResourceCPU: resource.MustParse("64")}
		n.Status.Allocatable = corev1.ResourceList{protocol.Resource: q}
	}
	return n
}

// annotate gives a Node the annotations of metax-gpu-device for a simulated host.
func annotate(t *testing.T, n *corev1.Node, simulated string, state protocol.NodeState) {
	t.Helper()
	host := simtest.Node(t, simulated)
	top, err := protocol.NewNodeTopology(host)
	if err != nil {
		t.Fatal(err)
	}
	graph, _ := topology.New(host)
	scores, losses, err := protocol.NewScale(graph).Tables(state.Free)
	if err != nil {
		t.Fatal(err)
	}
	n.Annotations = map[string]string{
		protocol.NodeAnnotation: top.String(), protocol.StateAnnotation: state.String(),
		protocol.ScoresAnnotation: scores.String(), protocol.LossesAnnotation: losses.String(),
		"example.com/owner": "Alice",
	}
}

// given is the annotation of a pod that has GPUs of a Node.
func given(t *testing.T, n *corev1.Node, gpus ...int) string {
	t.Helper()
	top, err := protocol.ParseNodeTopology(n.Annotations[protocol.NodeAnnotation])
	if err != nil {
		t.Fatal(err)
	}
	var list []gpu.UUID
	for _, i := range gpus {
		list = append(list, top.GPUs[i].UUID)
	}
	return protocol.Given(list)
}

func pod(namespace, name, node string, of corev1.ResourceName, count int64) corev1.Pod {
	p := corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "example.com/private/" + name}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if node == "" {
		p.Status.Phase = corev1.PodPending
	}
	if count > 0 {
		limits := corev1.ResourceList{of: *resource.NewQuantity(count, resource.DecimalSI)}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: limits, Requests: limits}
	}
	return p
}

func event(namespace, kind, of, name, reason, message string, second int) corev1.Event {
	return corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "." + reason},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: of, Name: name}, Reason: reason, Message: message, Type: corev1.EventTypeWarning,
		LastTimestamp: metav1.NewTime(time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC)), Count: 2,
	}
}

// TestParse reads the fixture: what has nothing to do with GPUs is gone.
func TestParse(t *testing.T) {
	text := testfile.Read(t, "testdata/cluster.yaml")
	o, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, n := range o.Nodes {
		got["nodes"] = append(got["nodes"], n.Name)
	}
	for _, p := range o.Pods {
		got["pods"] = append(got["pods"], p.Namespace+"/"+p.Name)
	}
	for _, e := range o.Events {
		got["events"] = append(got["events"], e.Reason)
	}
	want := map[string][]string{
		"nodes": {"node-a", "node-b.example.com", "node-c", "node-d", "node-e", "node-f", "node-g"},
		"pods": {
			"default/four", "default/model", "metax-gpu-extensions/metax-gpu-device-x7f2p",
			"team/big", "team/done", "team/infer", "team/old", "team/slice", "team/train-1",
		},
		"events": {"Pulling", "MetaXGPULeased", "MetaXGPUUnhealthy", "FailedScheduling"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(asJSON)
	if diff := cmp.Diff(o, again); err != nil || diff != "" {
		t.Errorf("as JSON: %v, %s", err, diff)
	}
	if on := o.OfNode("node-a"); len(on.Nodes) != 1 || len(on.Pods) != 2 || len(on.Events) != 0 {
		t.Errorf("of node-a: %d nodes, %d pods, %d Events", len(on.Nodes), len(on.Pods), len(on.Events))
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "- a", "kind: Pod\n", "kind: List\nitems: [3]\n", "kind: List\nitems: [{kind: Pod, spec: 3}]\n", "\tx", `{"kind": "List", "items": {}}`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// FuzzParse: a file of a stranger gives an error or objects, and nothing else.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"kind":"List","items":[{"kind":"Node","metadata":{"name":"a"}}]}`, "kind: List\nitems:\n- kind: Event\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if o, err := Parse(text); err == nil {
			if _, err := json.Marshal(o); err != nil {
				t.Error(err)
			}
		}
	})
}
