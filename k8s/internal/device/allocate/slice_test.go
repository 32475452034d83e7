// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// four is a node of GPU-0 to GPU-3 in ModeSGPU, of which those of bad are broken.
func four(bad ...int) *Snapshot {
	node := gpu.NewNode("four")
	for i := range 4 {
		node.GPUs = append(node.GPUs, gpu.GPU{
			Index: i, BDF: gpu.BDF{Bus: uint8(i + 1)}, UUID: gpu.UUID(fmt.Sprint("GPU-", i)), Healthy: true, Model: "MXC500", MemoryMiB: 65536, LinkDomain: 1 + i/2,
			Nodes: []string{fmt.Sprintf("/dev/dri/renderD%d", 128+i)},
		})
	}
	for _, i := range bad {
		node.GPUs[i].Healthy = false
	}
	return fourOf(node)
}

func fourOf(node gpu.Node) *Snapshot {
	state, _ := health.State{}.Next(health.FromNode(node), health.DefaultRules)
	devices, _ := inventory.Devices(node, state, inventory.Options{ModeSettings: protocol.ModeSettings{Mode: protocol.ModeSGPU}})
	return New(node, devices, nil)
}

// slicePod makes a pod with a container for each count of slices; "1i" is an init container,
// and "1s" a sidecar.
func slicePod(name, counts string, annotations map[string]string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: "uid-" + "pod", Annotations: annotations}}
	for i, word := range strings.Fields(counts) {
		number, init := strings.CutSuffix(word, "i")
		number, sidecar := strings.CutSuffix(number, "s")
		c := corev1.Container{Name: fmt.Sprintf("c%d", i)}
		if sidecar {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		if number != "0" {
			c.Resources.Limits = corev1.ResourceList{protocol.SliceResource: resource.MustParse(number)}
		}
		if init || sidecar {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		} else {
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	pod.Spec.NodeName = "node"
	return pod
}

// serve gives the containers of a pod their slices in turn, and returns them as words
// "c0:0/10/1024/best-effort#0": container, GPU, compute, memory, class, slot.
func serve(s *Snapshot, pod *corev1.Pod, state allocations.State) (string, allocations.State, error) {
	p, err := NewSlicePod(pod)
	if err != nil {
		return "", state, err
	}
	var words []string
	for p.Next(state) >= 0 {
		g, err := s.Slices(p, p.Containers[p.Next(state)].Count, state)
		if err != nil {
			return strings.Join(words, " "), state, err
		}
		for _, part := range g.Slices {
			words = append(words, fmt.Sprintf("%s:%s/%d/%d/%s#%d", g.Container.Name, strings.TrimPrefix(string(part.UUID), "GPU-"), part.Compute, part.MemoryMiB, part.QoS, part.Slot))
		}
		state = state.Add(allocations.Entry{IDs: []string{"token"}, For: &g.Container, Slices: g.Slices})
	}
	return strings.Join(words, " "), state, nil
}

// TestRecorded gives pods what real schedulers chose for them.
func TestRecorded(t *testing.T) {
	text := testfile.Read(t, "../../protocol/foreign/testdata/recorded.json")
	var recorded struct {
		Pods []struct {
			Name        string
			Annotations map[string]string
		}
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	for i, test := range map[int]struct{ counts, want string }{
		0: {"1", "c0:3/10/1024/best-effort#0"},
		1: {"2", "c0:2/20/2048/best-effort#0 c0:1/20/2048/best-effort#1"},
		2: {"1i 1", "c0:0/7/4096/best-effort#0 c1:0/5/3072/best-effort#1"},
		5: {"2", "c0:0/100/65536/#0 c0:1/100/65536/#1"},
		6: {"1", "c0:2/10/1024/best-effort#0"},
	} {
		pod := recorded.Pods[i]
		got, _, err := serve(four(), slicePod("pod", test.counts, pod.Annotations), allocations.State{})
		if err != nil || got != test.want {
			t.Errorf("%s: got %s, %v\nwant %s", pod.Name, got, err, test.want)
		}
	}
}

// lists is a SlicesAnnotation of words "GPU/compute/memory", with "|" between lists.
func lists(text string) string {
	var all []string
	for list := range strings.SplitSeq(text, "|") {
		var parts []string
		for _, word := range strings.Fields(list) {
			var g string
			var compute, memory int
			if _, err := fmt.Sscanf(strings.ReplaceAll(word, "/", " "), "%s %d %d", &g, &compute, &memory); err != nil {
				panic(err)
			}
			parts = append(parts, fmt.Sprintf(`{"uuid":"GPU-%s","compute":%d,"vRam":%d}`, g, compute, memory))
		}
		all = append(all, "["+strings.Join(parts, ",")+"]")
	}
	return "[" + strings.Join(all, ",") + "]"
}

func TestLayouts(t *testing.T) {
	for _, test := range []struct{ what, counts, lists, want, err string }{
		{"newer HAMi, a container without slices between", "1 0 1", "0/5/128||1/6/128", "c0:0/5/128/best-effort#0 c2:1/6/128/best-effort#1", ""},
		{"newer HAMi, an init container without slices", "0i 1", "|1/6/128", "c1:1/6/128/best-effort#0", ""},
		{"older HAMi, an init container without slices", "0i 1", "1/6/128", "c1:1/6/128/best-effort#0", ""},
		{"older HAMi, an init container with slices", "1i 1 1", "1/6/128|2/7/128", "c0:1/6/128/best-effort#0 c1:1/6/128/best-effort#0 c2:2/7/128/best-effort#1", ""},
		{"Koordinator, two containers", "1 2", "0/1/128 1/2/128 2/3/128", "c0:0/1/128/best-effort#0 c1:1/2/128/best-effort#1 c1:2/3/128/best-effort#2", ""},
		{"Koordinator, the init container requests more", "2i 1", "0/1/128 1/2/128", "c0:0/1/128/best-effort#0 c0:1/2/128/best-effort#1 c1:0/1/128/best-effort#0", ""},
		{"no lists", "1", "", "", "the scheduler chose 0 slices, which are not those"},
		{"too few", "2", "0/1/128", "", "the scheduler chose 1 slices, which are not those"},
		{"too many", "1 1", "0/1/128|0/1/128 0/1/128", "", "the scheduler chose 1+2 slices"},
		{"requests whose sum overflows to the number of slices", "1" + strings.Repeat(" 4611686018427387904", 4), "0/1/128", "", "the scheduler chose 1 slices"},
		{"older HAMi, the init container requests more", "2i 1", "0/1/128", "", "the scheduler chose 1 slices"},
		{"a sidecar runs beside the container", "1s 1", "0/40/4096|0/60/8192", "c0:0/40/4096/best-effort#0 c1:0/60/8192/best-effort#1", ""},
		{"a sidecar, and the container does not fit beside it", "1s 1", "0/50/128|0/60/128", "c0:0/50/128/best-effort#0", "has 50% of its compute free"},
		{"a sidecar as large as the container", "1s 1", "0/50/128|0/50/128", "c0:0/50/128/best-effort#0 c1:0/50/128/best-effort#1", ""},
		{"an init container as large as the container", "1i 1", "0/60/128|0/60/128", "c0:0/60/128/best-effort#1 c1:0/60/128/best-effort#1", ""},
		{"an init container as large, of another GPU", "1i 1", "0/60/128|1/60/128", "c0:0/60/128/best-effort#0 c1:1/60/128/best-effort#1", ""},
		{"an init container with more compute", "1i 1", "0/60/128|0/50/128", "c0:0/60/128/best-effort#0", "has 40% of its compute free"},
		{"an init container with more memory", "1i 1", "0/10/256|0/20/128", "c0:0/10/256/best-effort#0 c1:0/20/128/best-effort#1", ""},
		{"an init container with a whole GPU", "1i 1", "0/100/65536|0/100/65536", "c0:0/100/65536/#1 c1:0/100/65536/#1", ""},
		{"of two init containers, the second is larger", "1i 1i 1", "0/50/128|0/60/128|1/1/128", "c0:0/60/128/best-effort#1 c1:0/60/128/best-effort#1 c2:1/1/128/best-effort#2", ""},
		{"init containers before and after a sidecar", "1i 1s 1i 1", "0/60/128|0/30/128|0/20/128|0/60/128", "c0:0/60/128/best-effort#3 c1:0/30/128/best-effort#1 c2:0/60/128/best-effort#3 c3:0/60/128/best-effort#3", ""},
		{"an init container before a sidecar of its size", "1i 1s 1", "0/40/128|0/50/256|1/1/128", "c0:0/50/256/best-effort#1 c1:0/50/256/best-effort#1 c2:1/1/128/best-effort#2", ""},
		{"an init container after a sidecar of its size", "1s 1i 1", "0/50/256|0/40/128|1/1/128", "c0:0/50/256/best-effort#0 c1:0/40/128/best-effort#1 c2:1/1/128/best-effort#2", ""},
		{"two GPUs of an init container", "2i 1 1", "0/5/128 1/5/128|1/5/128|0/5/128", "c0:0/5/128/best-effort#3 c0:1/5/128/best-effort#2 c1:1/5/128/best-effort#2 c2:0/5/128/best-effort#3", ""},
		{"Koordinator, a sidecar", "1s 1", "0/1/128 1/2/128", "c0:0/1/128/best-effort#0 c1:1/2/128/best-effort#1", ""},
		{"Koordinator, an init container after a sidecar", "1s 1i 1", "0/1/128 1/2/128", "c0:0/1/128/best-effort#0 c1:1/2/128/best-effort#1 c2:1/2/128/best-effort#1", ""},
		{"a sidecar for which nothing was chosen", "1s 1", "0/1/128", "", "the scheduler chose 1 slices"},
		{"older HAMi, a sidecar for which nothing was chosen", "1s 1 1", "0/1/128|1/1/128", "", "the scheduler chose 1+1 slices"},
	} {
		t.Run(test.what, func(t *testing.T) {
			got, _, err := serve(four(), slicePod("pod", test.counts, map[string]string{foreign.SlicesAnnotation: lists(test.lists)}), allocations.State{})
			if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %s, %v\nwant %s, %s", got, err, test.want, test.err)
			}
		})
	}
	if _, _, err := serve(four(), slicePod("pod", "1", nil), allocations.State{}); err == nil || !strings.Contains(err.Error(), "the scheduler chose no slices") {
		t.Errorf("without an annotation: %v", err)
	}
}

// TestChecks has slices that users could write into annotations. Before, a pod has 40 percent
// and 60000 MiB of GPU-0 in the class fixed-share, and another the whole of GPU-1.
func TestChecks(t *testing.T) {
	had := func(pod, uuid, qos string, compute, memory int) allocations.Entry {
		return allocations.Entry{IDs: []string{pod}, For: &allocations.Container{UID: pod, Namespace: "team", Pod: pod, Name: "main"}, Slices: []allocations.Slice{{Slice: foreign.Slice{UUID: gpu.UUID(uuid), Compute: compute, MemoryMiB: memory}, QoS: qos}}}
	}
	state := allocations.State{Entries: []allocations.Entry{had("a", "GPU-0", gpu.QoSFixedShare, 40, 60000), had("b", "GPU-1", "", 100, 65536)}}
	full := allocations.State{}
	for i := range gpu.MaxSlices {
		full.Entries = append(full.Entries, had(fmt.Sprint(i), "GPU-0", gpu.QoSBestEffort, 1, 128))
	}
	others := four().Node()
	others.GPUs = append([]gpu.GPU{}, others.GPUs...)
	others.GPUs[2].Mode = gpu.ModeSGPU
	others.GPUs[2].Slices = []gpu.Slice{
		{Kind: gpu.SliceSGPU, UUID: "SGPU-a", Alias: "mine", ComputePercent: 90, MemoryMiB: 1024, QoS: gpu.QoSBurstShare},
		{Kind: gpu.SliceSGPU, UUID: "SGPU-b", Alias: Alias("team", "a", 0), ComputePercent: 90, MemoryMiB: 1024},
	}
	const none = "-"
	for _, test := range []struct {
		what     string
		snapshot *Snapshot
		state    allocations.State
		slice    string
		qos      string
		online   bool
		want     string
	}{
		{"best-effort", four(), allocations.State{}, "0/10/1024", gpu.QoSBestEffort, false, "c0:0/10/1024/best-effort#0"},
		{"fixed-share", four(), allocations.State{}, "0/10/1024", gpu.QoSFixedShare, false, "c0:0/10/1024/fixed-share#0"},
		{"burst-share", four(), allocations.State{}, "0/10/1024", gpu.QoSBurstShare, false, "c0:0/10/1024/burst-share#0"},
		{"no class", four(), allocations.State{}, "0/10/1024", none, false, "c0:0/10/1024/best-effort#0"},
		{"no class, the GPU has one", four(), state, "0/10/1024", none, false, "c0:0/10/1024/fixed-share#0"},
		{"an unknown class", four(), allocations.State{}, "0/10/1024", "gold", false, `"gold"; want best-effort, fixed-share or burst-share`},
		{"another class", four(), state, "0/10/1024", gpu.QoSBestEffort, false, "GPU 0 (GPU-0, 0000:01:00.0) has slices of the class fixed-share; one of best-effort cannot be added"},
		{"all that is free", four(), state, "0/60/5536", none, false, "c0:0/60/5504/fixed-share#0"},
		{"too much compute", four(), state, "0/61/1024", none, false, "has 60% of its compute free; a slice of 61% does not fit"},
		{"too much memory", four(), state, "0/10/5700", none, false, "has 5536 MiB of memory free; a slice of 5632 MiB does not fit"},
		{"no memory", four(), state, "0/10/0", none, false, "a slice of GPU 0 (GPU-0, 0000:01:00.0) has 0 MiB of memory; want at least 128"},
		{"no compute", four(), allocations.State{}, "0/0/1024", none, false, "only pods of the class online may have such"},
		{"no compute, online", four(), allocations.State{}, "0/0/1024", none, true, "c0:0/0/1024/best-effort#0"},
		{"too many", four(), full, "0/1/128", none, false, "has 16 slices; there can be no more"},
		{"beside a whole GPU", four(), state, "1/10/1024", none, false, "is not free: a pod has it as a whole"},
		{"a whole GPU beside slices", four(), state, "0/100/65536", none, false, "is not free: it has 1 slices"},
		{"a whole GPU", four(), state, "3/100/65536", none, false, "c0:3/100/65536/#0"},
		{"an unknown GPU", four(), state, "9/10/1024", none, false, "GPU-9 is not a GPU of this node"},
		{"a broken GPU", four(3), state, "3/10/1024", none, false, "GPU 3 (GPU-3, 0000:04:00.0) is unhealthy: "},
		{"slices of others", fourOf(others), allocations.State{}, "2/10/1024", none, false, "c0:2/10/1024/burst-share#0"},
		{"slices of others, of another class", fourOf(others), allocations.State{}, "2/10/1024", gpu.QoSFixedShare, false, "has slices of the class burst-share"},
		{"slices of others, too much", fourOf(others), allocations.State{}, "2/11/1024", none, false, "has 10% of its compute free"},
	} {
		t.Run(test.what, func(t *testing.T) {
			annotations := map[string]string{foreign.SlicesAnnotation: lists(test.slice)}
			if test.qos != none {
				annotations[foreign.QoSAnnotation] = test.qos
			}
			if test.online {
				annotations[foreign.AppClassAnnotation] = "online"
			}
			got, _, err := serve(test.snapshot, slicePod("pod", "1", annotations), test.state)
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != test.want || err != nil && !strings.Contains(got, test.want) {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
	s := four()
	s.Outside = []gpu.BDF{{Bus: 4}}
	if _, _, err := serve(s, slicePod("pod", "1", map[string]string{foreign.SlicesAnnotation: lists("3/1/128")}), state); err == nil || !strings.Contains(err.Error(), "in use outside Kubernetes") {
		t.Errorf("a GPU in use outside: %v", err)
	}
	if _, _, err := serve(s, slicePod("pod", "2", map[string]string{foreign.SlicesAnnotation: lists("2/60/128 2/60/128")}), state); err == nil || !strings.Contains(err.Error(), "has 40% of its compute free") {
		t.Errorf("twice the same GPU: %v", err)
	}
	p, _ := NewSlicePod(slicePod("pod", "1", map[string]string{foreign.SlicesAnnotation: lists("2/60/128")}))
	if _, err := s.Slices(p, 2, state); err == nil || !strings.Contains(err.Error(), "container c0 requests 1 slices, and the kubelet asks for 2") {
		t.Errorf("another count: %v", err)
	}

	var got []string
	for _, r := range four(3).Registration(state) {
		got = append(got, fmt.Sprintf("%s %t %s %d %d %d %d", r.UUID, r.Healthy, r.QoS, r.Domain, r.AvailableDevices, r.AvailableCompute, r.AvailableMemory))
	}
	if d := cmp.Diff([]string{"GPU-0 true fixed-share 1 15 60 5536", "GPU-1 true  1 0 0 0", "GPU-2 true  2 16 100 65536", "GPU-3 false  2 16 100 65536"}, got); d != "" {
		t.Error(d)
	}
	for _, test := range []struct {
		what   string
		state  allocations.State
		listed []allocations.Listed
		want   int
	}{
		{"nobody has it", allocations.State{}, nil, 1},
		{"the record has it", state, nil, 0},
		{"only the kubelet knows its pod", allocations.State{}, []allocations.Listed{{Container: allocations.Container{Namespace: "team", Pod: "a"}, IDs: []string{"GPU-0-sgpu3"}}}, 0},
		{"a pod of the name with whole GPUs", allocations.State{}, []allocations.Listed{{Container: allocations.Container{Namespace: "team", Pod: "a"}, IDs: []string{"GPU-0"}}}, 1},
	} {
		if got := fourOf(others).Orphans(test.state, test.listed); len(got) != test.want || len(got) > 0 && got[0].UUID != "SGPU-b" {
			t.Errorf("%s: orphans are %v", test.what, got)
		}
	}
}

// TestSettleLock has what became of a pod with the lock.
func TestSettleLock(t *testing.T) {
	annotations := map[string]string{foreign.SlicesAnnotation: lists("0/5/128|1/5/128"), foreign.PhaseAnnotation: foreign.PhaseAllocating}
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := slicePod("pod", "1 1", annotations)
		change(p)
		return p
	}
	_, done, err := serve(four(), pod(func(*corev1.Pod) {}), allocations.State{})
	if err != nil {
		t.Fatal(err)
	}
	half := allocations.State{Entries: done.Entries[:1]}
	lock := foreign.Lock{Namespace: "team", Pod: "pod"}
	for _, test := range []struct {
		what  string
		lock  foreign.Lock
		pod   *corev1.Pod
		state allocations.State
		want  string
	}{
		{"it waits", lock, pod(func(*corev1.Pod) {}), allocations.State{}, "false "},
		{"one container is served", lock, pod(func(*corev1.Pod) {}), half, "false "},
		{"all are served", lock, pod(func(*corev1.Pod) {}), done, "true success"},
		{"another pod of the name was served", lock, pod(func(p *corev1.Pod) { p.UID = "other" }), done, "false "},
		{"it has failed", lock, pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), half, "true failed"},
		{"it runs, and its record is lost", lock, pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), allocations.State{}, "true success"},
		{"it is being started", lock, pod(func(p *corev1.Pod) { p.Status.InitContainerStatuses = make([]corev1.ContainerStatus, 1) }), allocations.State{}, "true success"},
		{"it is gone", lock, nil, half, "true "},
		{"it is not bound yet", lock, pod(func(p *corev1.Pod) { p.Spec.NodeName = "" }), allocations.State{}, "false "},
		{"it is on another node", lock, pod(func(p *corev1.Pod) { p.Spec.NodeName = "b" }), allocations.State{}, "true "},
		{"it asks for nothing", lock, slicePod("pod", "0", nil), allocations.State{}, "false "},
		{"its annotations are not valid", lock, pod(func(p *corev1.Pod) { p.Annotations = map[string]string{foreign.SlicesAnnotation: "x"} }), allocations.State{}, "false "},
		{"the old form names no pod", foreign.Lock{}, nil, allocations.State{}, "false "},
	} {
		release, phase := SettleLock(test.lock, "node", test.pod, test.state)
		if got := fmt.Sprint(release, " ", phase); got != test.want {
			t.Errorf("%s: %s, want %s", test.what, got, test.want)
		}
	}
}
