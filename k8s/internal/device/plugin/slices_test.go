// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
	"github.com/metax-ctk/container-toolkit/k8s/internal/slicefile"
)

// slicing is an Allocator in ModeSGPU with a cluster and with a driver whose slices are in
// memory.
type slicing struct {
	*Allocator
	t      *testing.T
	client *fake.Clientset
	node   gpu.Node
	broken error  // of the driver
	named  string // METAX_SGPUS of the last answer
	first  int    // number of the first device that give answers for
}

func newSlicing(t *testing.T, lock string, pods ...*corev1.Pod) *slicing {
	t.Helper()
	a, node := allocator(t, t.TempDir(), "boot", new(strings.Builder))
	objects := []runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Annotations: map[string]string{foreign.LockAnnotation: lock, "other": "1"}}}}
	if lock == "" {
		delete(objects[0].(*corev1.Node).Annotations, foreign.LockAnnotation)
	}
	for _, p := range pods {
		objects = append(objects, p)
	}
	s := &slicing{Allocator: a, t: t, client: fake.NewClientset(objects...), node: node}
	s.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		// As RBAC does: the plugin may write to pods through their status only.
		return action.GetSubresource() != "status", nil, errors.New("cannot patch resource \"pods\"")
	})
	a.State.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	a.Slices = &Slices{State: a.State, Locker: Locker{Client: s.client.CoreV1(), Node: "node"}, Change: s.change, Files: slicefile.Dir(filepath.Join(t.TempDir(), "sgpu"))}
	a.State.Switch(protocol.ModeSettings{Mode: protocol.ModeSGPU})
	s.see()
	return s
}

// bind makes a pod of the node.
func (s *slicing) bind(pod *corev1.Pod) {
	s.t.Helper()
	if _, err := s.client.CoreV1().Pods(pod.Namespace).Create(s.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// report changes the status of a pod, as the kubelet does.
func (s *slicing) report(name string, change func(*corev1.PodStatus)) {
	s.t.Helper()
	pods := s.client.CoreV1().Pods("team")
	p, err := pods.Get(s.t.Context(), name, metav1.GetOptions{})
	if err == nil {
		change(&p.Status)
		_, err = pods.UpdateStatus(s.t.Context(), p, metav1.UpdateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func starts(p *corev1.PodStatus) { p.ContainerStatuses = make([]corev1.ContainerStatus, 1) }

func fails(p *corev1.PodStatus) { p.Phase = corev1.PodFailed }

// see takes a look at the node.
func (s *slicing) see() {
	state, _ := health.State{}.Next(health.FromNode(s.node), health.DefaultRules)
	devices, _ := inventory.Devices(s.node, state, inventory.Options{ModeSettings: protocol.ModeSettings{Mode: protocol.ModeSGPU}})
	s.State.SetNode(s.node, devices, nil)
}

func (s *slicing) change(_ context.Context, c reader.Change) (gpu.Node, error) {
	if s.broken != nil {
		return gpu.Node{}, s.broken
	}
	s.node.GPUs = append([]gpu.GPU{}, s.node.GPUs...)
	for i := range s.node.GPUs {
		g := &s.node.GPUs[i]
		var left []gpu.Slice
		for _, old := range g.Slices {
			gone := false
			for _, a := range c.Remove {
				gone = gone || a.GPU == g.BDF && a.Alias == old.Alias
			}
			if !gone {
				left = append(left, old)
			}
		}
		for _, r := range c.Make {
			if r.BDF == g.BDF {
				left = append(left, gpu.Slice{Kind: gpu.SliceSGPU, Index: len(left), UUID: fmt.Sprintf("SGPU-%d-%d", i, len(left)), Alias: r.Alias, ComputePercent: r.Compute, MemoryMiB: r.MemoryMiB, QoS: r.QoS, Nodes: g.Nodes[1:]})
			}
		}
		if g.Slices, g.Mode = left, ""; len(left) > 0 {
			g.Mode = gpu.ModeSGPU
		}
	}
	return s.node, nil
}

// slices counts the slices of all GPUs.
func (s *slicing) slices() (n int) {
	for _, g := range s.node.GPUs {
		n += len(g.Slices)
	}
	return n
}

// files are the devices of the kubelet by the UUIDs of slices, for an exporter.
func (s *slicing) files() map[string]string {
	s.t.Helper()
	all, err := s.Slices.Files.Read()
	if err != nil {
		s.t.Fatal(err)
	}
	ids := map[string]string{}
	for uuid, f := range all {
		ids[uuid] = f.ID
	}
	return ids
}

// give answers for n devices.
func (s *slicing) give(n int) (map[string]string, error) {
	var ids []string
	for i := range n {
		ids = append(ids, inventory.SliceID(s.node.GPUs[7].UUID, s.first+i))
	}
	answer, err := s.Allocate(ids)
	if err != nil {
		return nil, err
	}
	s.named = answer.Envs[protocol.SlicesVariable]
	paths := map[string]string{}
	for _, d := range answer.Devices {
		paths[d.ContainerPath] = d.Permissions
	}
	if len(answer.CdiDevices) > 0 {
		s.t.Errorf("CDI names: %v", answer.CdiDevices)
	}
	return paths, nil
}

// state is "lock phase": whether the node is locked, and the phase of a pod.
func (s *slicing) state(pod string) string {
	s.t.Helper()
	n, err := s.client.CoreV1().Nodes().Get(s.t.Context(), "node", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	if n.Annotations["other"] != "1" {
		s.t.Error("another annotation is gone")
	}
	word := "free"
	if n.Annotations[foreign.LockAnnotation] != "" {
		word = "locked"
	}
	p, err := s.client.CoreV1().Pods("team").Get(s.t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		return word + " gone"
	}
	return word + " " + p.Annotations[foreign.PhaseAnnotation]
}

// sliced is a pod on the node for which a scheduler chose a slice of 10 percent of GPU 0 for
// each of its containers.
func sliced(name string, containers int, change ...func(*corev1.Pod)) *corev1.Pod {
	part := `[{"uuid":"` + uuidOf(0) + `","compute":10,"vRam":1024}]`
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: types.UID("uid-" + name), Annotations: map[string]string{
			foreign.SlicesAnnotation: "[" + strings.TrimSuffix(strings.Repeat(part+",", containers), ",") + "]", foreign.PhaseAnnotation: foreign.PhaseAllocating,
		}},
		Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for i := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: fmt.Sprint("c", i), Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{protocol.SliceResource: resource.MustParse("1")}}})
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// uuidOf is the UUID of a GPU of the node.
func uuidOf(index int) string {
	n, err := sim.Node("c500-8")
	if err != nil {
		panic(err)
	}
	return string(n.GPUs[index].UUID)
}

var conflict = apierrors.NewConflict(corev1.Resource("nodes"), "node", errors.New("it has changed"))

const lockOf = "2026-11-22T16:52:48Z,team,"

// TestSlices gives a pod of two containers its slices.
func TestSlices(t *testing.T) {
	s := newSlicing(t, lockOf+"pod", sliced("pod", 2))
	for i, want := range []string{"locked allocating", "free success"} {
		paths, err := s.give(1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]string{"/dev/mxcd": "rw", "/dev/dri/renderD128": "rw"}, paths); d != "" {
			t.Error(d)
		}
		if want := fmt.Sprintf("sgpu=%s#%d;compute=10;vram=1024;alias=%s", s.node.GPUs[0].BDF, i, allocate.Alias("team", "pod", i)); s.named != want {
			t.Errorf("the slices are named %q, want %q", s.named, want)
		}
		if got := s.state("pod"); got != want || s.slices() != i+1 {
			t.Errorf("after container %d: %s, %d slices; want %s", i, got, s.slices(), want)
		}
	}
	if got, want := s.State.view().registration(), `"availableCompute":80`; !strings.Contains(got, want) || !strings.Contains(got, `"qosPolicy":"best-effort"`) || !strings.Contains(got, `"healthy":true`) {
		t.Errorf("the registration is %s", got)
	}
	if ids, _ := s.State.InUse(); len(ids) != 1 || ids[0] != inventory.SliceID(s.node.GPUs[0].UUID, 0) {
		t.Errorf("in use are %v", ids)
	}
	token := []string{inventory.SliceID(s.node.GPUs[7].UUID, 0)}
	if err := s.PreStart(token); err != nil {
		t.Error(err)
	}
	s.node.GPUs[0].Healthy = false
	s.see()
	if err := s.PreStart(token); err == nil || !strings.Contains(err.Error(), uuidOf(0)) {
		t.Errorf("the GPU of the slice is broken: %v", err)
	}
	if err := s.PreStart([]string{inventory.SliceID(s.node.GPUs[7].UUID, 9)}); err == nil || !strings.Contains(err.Error(), "its slices are gone") {
		t.Errorf("a slice that nobody made: %v", err)
	}
	want := map[string]string{"SGPU-0-0": token[0], "SGPU-0-1": token[0]}
	if d := cmp.Diff(want, s.files()); d != "" {
		t.Errorf("files of slices: %s", d)
	}
	// The plugin starts again with its record: nothing is an orphan while the pod runs.
	s.State.Load()
	s.State.SetRequests(allocate.Requests(sliced("pod", 2), []string{protocol.SliceResource}, protocol.PodChoice{}))
	if s.Slices.Sweep(t.Context(), true); s.slices() != 2 {
		t.Errorf("%d slices are left of a running pod", s.slices())
	}
	s.State.SetRequests(nil)
	if s.see(); s.slices() != 2 {
		t.Errorf("%d slices", s.slices())
	}
	if s.Slices.Sweep(t.Context(), true); s.slices() != 0 || len(s.files()) > 0 {
		t.Errorf("%d slices and the files %v are left of a pod that has ended", s.slices(), s.files())
	}
}

// TestStaleList: a scheduler knows that a pod has ended, and chooses its GPU for one of
// another class, before the kubelet is asked again what its pods have.
func TestStaleList(t *testing.T) {
	next := sliced("next", 1, func(p *corev1.Pod) { p.Annotations[foreign.QoSAnnotation] = gpu.QoSFixedShare })
	first := sliced("first", 1)
	s := newSlicing(t, lockOf+"first", first)
	see := func(pods ...*corev1.Pod) {
		var all []allocate.Request
		for _, p := range pods {
			all = append(all, requestsOf(p)...)
		}
		s.State.SetRequests(all)
	}
	see(first)
	if _, err := s.give(1); err != nil {
		t.Fatal(err)
	}
	s.State.SetListed([]allocations.Listed{{Container: allocations.Container{Namespace: "team", Pod: "first", Name: "c0"}, IDs: []string{inventory.SliceID(s.node.GPUs[7].UUID, 0)}}})
	see(first, next)
	s.bind(next)
	s.lock(lockOf + "next")
	if err := s.client.CoreV1().Pods("team").Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	see(next)
	s.first = 1
	if _, err := s.give(1); err != nil {
		t.Fatal(err)
	}
	if parts := s.node.GPUs[0].Slices; len(parts) != 1 || parts[0].QoS != gpu.QoSFixedShare {
		t.Errorf("the GPU has the slices %v", parts)
	}
	// A record that is lost does not cost a pod its slice.
	s.State.Store.Path += ".none"
	s.State.Load()
	s.State.SetListed([]allocations.Listed{{Container: allocations.Container{Namespace: "team", Pod: "next", Name: "c0"}, IDs: []string{inventory.SliceID(s.node.GPUs[7].UUID, 1)}}})
	if s.Slices.Sweep(t.Context(), false); s.slices() != 1 {
		t.Errorf("%d slices are left", s.slices())
	}
}

// TestLateNews: a scheduler chooses the GPU of a pod that has ended for one of another class,
// and the watch of the plugin does not say so yet, or has never named that pod.
func TestLateNews(t *testing.T) {
	for _, isKnown := range []bool{true, false} {
		first := sliced("first", 1)
		s := newSlicing(t, lockOf+"first", first)
		s.State.SetRequests([]allocate.Request{})
		if isKnown {
			s.State.SetRequests(requestsOf(first))
		}
		if _, err := s.give(1); err != nil {
			t.Fatal(err)
		}
		if isKnown {
			s.State.SetListed([]allocations.Listed{{Container: allocations.Container{Namespace: "team", Pod: "first", Name: "c0"}, IDs: []string{inventory.SliceID(s.node.GPUs[7].UUID, 0)}}})
		}
		s.report("first", fails)
		s.bind(sliced("next", 1, func(p *corev1.Pod) { p.Annotations[foreign.QoSAnnotation] = gpu.QoSFixedShare }))
		s.lock(lockOf + "next")
		s.first = 1
		if _, err := s.give(1); err != nil || s.slices() != 1 {
			t.Errorf("known: %t: %v, %d slices", isKnown, err, s.slices())
		}
		s.State.Load()
		if held := s.State.view().record.Slices(); len(held) != 1 || held[0].Pod.Pod != "next" {
			t.Errorf("known: %t: the record has %v", isKnown, held)
		}
	}
}

func requestsOf(p *corev1.Pod) []allocate.Request {
	return allocate.Requests(p, []string{protocol.SliceResource}, protocol.PodChoice{})
}

// TestRefusals has pods that get no slices, and what becomes of lock and phase.
func TestRefusals(t *testing.T) {
	annotate := func(key, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations[key] = value }
	}
	for _, test := range []struct {
		what, lock string
		pod        *corev1.Pod
		broken     error
		err, want  string
	}{
		{"no lock", "", sliced("pod", 1), nil, "no scheduler has locked the node", "free allocating"},
		{"the old form of the lock", "2026-11-22T16:52:48Z", sliced("pod", 1), nil, "no scheduler has locked the node", "locked allocating"},
		{"the lock of another pod", lockOf + "other", sliced("pod", 1), nil, "pod team/other, which the lock of the node names, does not wait", "free allocating"},
		{"the pod of another node", lockOf + "pod", sliced("pod", 1, func(p *corev1.Pod) { p.Spec.NodeName = "b" }), nil, "does not wait on this node", "free allocating"},
		{"a pod that is not bound yet", lockOf + "pod", sliced("pod", 1, func(p *corev1.Pod) { p.Spec.NodeName = "" }), nil, "does not wait on this node", "locked allocating"},
		{"a pod that runs", lockOf + "pod", sliced("pod", 1, func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), nil, "does not wait on this node", "free success"},
		{"more than there is", lockOf + "pod", sliced("pod", 1, annotate(foreign.SlicesAnnotation, `[[{"uuid":"`+uuidOf(0)+`","compute":10,"vRam":99999}]]`)), nil, "does not fit", "free failed"},
		{"an unknown class", lockOf + "pod", sliced("pod", 1, annotate(foreign.QoSAnnotation, "gold")), nil, `"gold"; want best-effort`, "free failed"},
		{"the driver fails", lockOf + "pod", sliced("pod", 1), errors.New("out of order"), "make the slices: out of order", "free failed"},
		{"a pod without a phase", lockOf + "pod", sliced("pod", 1, func(p *corev1.Pod) { delete(p.Annotations, foreign.PhaseAnnotation) }), errors.New("out of order"), "out of order", "free "},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := newSlicing(t, test.lock, test.pod)
			s.broken = test.broken
			if _, err := s.give(1); err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, want %s", err, test.err)
			}
			if got := s.state("pod"); got != test.want || s.slices() != 0 {
				t.Errorf("%s, %d slices; want %s", got, s.slices(), test.want)
			}
		})
	}
}
