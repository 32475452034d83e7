// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestHAMiSlices lets HAMi's scheduler choose slices for pods that run on the node. Whatever
// happens to a pod between its binding and its answer, the lock of the node is released and no
// slice is left.
func TestHAMiSlices(t *testing.T) {
	t.Parallel()
	program := scheduler(t, hamiVariable)
	n := newNode(t, "c500-8")
	n.installSlices(t)
	if err := n.RunHAMi(within(t), program); err != nil {
		t.Fatal(err)
	}
	n.listed(t)
	for _, row := range []struct {
		name       string
		containers []string // as of hamiPod
		want       []string // slices
	}{
		{"two-slices", []string{"2/20/2"}, []string{"20/2048", "20/2048"}},
		{"two-containers", []string{"1/10/1", "1/20/2"}, []string{"10/1024", "20/2048"}},
		{"init-has-more", []string{"i1/7/4", "1/5/3"}, []string{"5/3072", "7/4096"}},
		{"init-has-two", []string{"i2/7/4", "1/5/3"}, []string{"5/3072", "7/4096", "7/4096"}},
		{"init-has-fewer", []string{"i1/5/3", "2/7/4"}, []string{"7/4096", "7/4096"}}, // uses a slice of the other
		{"init-fills-it", []string{"i1/60/60", "1/60/60"}, []string{"60/61440"}},
		{"sidecar", []string{"s1/60/4", "1/40/60"}, []string{"40/61440", "60/4096"}},
		{"init-without", []string{"i0/0/0", "1/5/3"}, []string{"5/3072"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			n.create(t, hamiPod(row.name, row.containers...))
			n.served(t, row.name, row.want...)
		})
	}
	t.Run("gang", n.hamiGang)
	t.Run("examples", n.hamiExamples)
	t.Run("classes", n.hamiClasses)
	t.Run("a slice of somebody else", n.hamiRefused)
	t.Run("a whole GPU", func(t *testing.T) {
		n.create(t, hamiPod("whole", "1/100/0"))
		n.phase(t, "whole", corev1.PodRunning)
		if gpus := n.given(t, "whole"); len(gpus) != 1 {
			t.Errorf("the pod has the GPUs %d, want one", gpus)
		}
		n.served(t, "whole")
	})
	t.Run("more memory than a GPU has", func(t *testing.T) {
		n.create(t, hamiPod("large", "1/10/65"))
		wait(t, "the verdict on the pod", func(ctx context.Context) error {
			pod, err := n.pods().Get(ctx, "large", metav1.GetOptions{})
			if err == nil && (pod.Spec.NodeName != "" || !strings.Contains(state(pod), "nodes are available")) {
				err = fmt.Errorf("it is on the node %q: %s", pod.Spec.NodeName, state(pod))
			}
			return err
		})
		n.remove(t, "large")
	})
	t.Run("only the init container", func(t *testing.T) { // HAMi does not lock the node for it
		n.create(t, hamiPod("init-only", "i1/5/3", "0/0/0"))
		if pod := n.phase(t, "init-only", corev1.PodFailed); !strings.Contains(pod.Status.Message, "no scheduler has locked the node") {
			t.Errorf("the pod failed: %s", state(pod))
		}
		n.remove(t, "init-only")
		n.sliced(t)
	})
	t.Run("two at once", func(t *testing.T) {
		names := []string{"first", "second"}
		var both sync.WaitGroup
		for _, name := range names {
			both.Go(func() {
				if _, err := n.pods().Create(within(t), hamiPod(name, "1/10/1"), metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		for _, name := range names {
			n.phase(t, name, corev1.PodRunning)
			n.bindPhase(t, name, "success")
		}
		n.unlocked(t)
		n.sliced(t, "10/1024", "10/1024")
		for _, name := range names {
			n.remove(t, name)
		}
		n.sliced(t)
	})
	n.interruptSlices(t, func(name string) *corev1.Pod { return hamiPod(name, "1/10/1") })
	t.Run("storm", n.sliceStorm)
}

// hamiExamples runs the pods of HAMi's documentation.
func (n *node) hamiExamples(t *testing.T) {
	for _, row := range []struct {
		file   string
		slices []string
	}{
		{"hami-slice.yaml", []string{"60/4096"}},
		{"hami-slices.yaml", []string{"30/2048", "60/4096"}},
		{"hami-online.yaml", []string{"100/4096"}}, // HAMi chooses no share; the driver knows no slice without
		{"hami-offline.yaml", []string{"60/4096"}},
	} {
		t.Run(row.file, func(t *testing.T) {
			n.create(t, example(t, row.file, "example", "pause"))
			n.served(t, "example", row.slices...)
		})
	}
	t.Run("hami-exclusive.yaml", func(t *testing.T) {
		n.create(t, example(t, "hami-exclusive.yaml", "example", "pause"))
		n.phase(t, "example", corev1.PodRunning)
		if gpus := n.given(t, "example"); len(gpus) != 4 || gpus[0]/4 != gpus[3]/4 {
			t.Errorf("the pod has the GPUs %d, want four of one MetaXLink domain", gpus)
		}
		n.served(t, "example")
	})
	t.Run("a chosen GPU", func(t *testing.T) {
		pod := example(t, "hami-slice.yaml", "example", "pause")
		pod.Annotations["metax-tech.com/use-gpuuuid"] = n.gpus[5].UUID
		n.create(t, pod)
		n.phase(t, "example", corev1.PodRunning)
		if all, err := n.slices(); err != nil || len(all) != 1 || all[0].gpu != 5 {
			t.Errorf("%v: the slices are %+v, want one of GPU 5", err, all)
		}
		n.served(t, "example", "60/4096")
	})
}

// hamiClasses has pods of each class, of none and of an unknown one.
func (n *node) hamiClasses(t *testing.T) {
	for i, class := range []string{"best-effort", "fixed-share", "burst-share", ""} {
		t.Run("class "+class, func(t *testing.T) {
			pod := hamiPod("class", "1/10/1")
			if class != "" {
				pod.Annotations = map[string]string{qosPolicy: class}
			}
			n.create(t, pod)
			n.phase(t, "class", corev1.PodRunning)
			all, err := n.slices()
			if err != nil || len(all) != 1 {
				t.Fatalf("the slices are %v, %v", all, err)
			}
			text, err := os.ReadFile(n.Path(cluster.NodeDir + "/sys/bus/pci/devices/" + n.gpus[all[0].gpu].BDF + "/sgpu/sched_class"))
			if want := fmt.Sprintln(i % 3); err != nil || string(text) != want {
				t.Errorf("the driver has the class %q, want %q: %v", text, want, err)
			}
			n.served(t, "class", "10/1024")
		})
	}
	t.Run("an unknown class", func(t *testing.T) {
		pod := hamiPod("class", "1/10/1")
		pod.Annotations = map[string]string{qosPolicy: "gold"}
		n.create(t, pod)
		n.refused(t, "class", `"gold"; want best-effort, fixed-share or burst-share`)
	})
}

// hamiRefused lets HAMi choose a GPU of which somebody else has a large slice, which HAMi does
// not know: the driver refuses.
func (n *node) hamiRefused(t *testing.T) {
	sgpu := func(args ...string) { n.must(t, smi, append([]string{"sgpu", "-i", "5"}, args...)...) }
	sgpu("--enable")
	sgpu("--create", "--compute", "10", "--vram", "60G", "--alias", "somebody-else")
	pod := hamiPod("refused", "1/10/10")
	pod.Annotations = map[string]string{"metax-tech.com/use-gpuuuid": n.gpus[5].UUID}
	n.create(t, pod)
	n.refused(t, "refused", "make the slices: ")
	n.sliced(t, "10/61440")
	sgpu("--remove", "0")
	sgpu("--disable")
	n.create(t, pod)
	n.served(t, "refused", "10/10240")
}

// refused waits until a pod has failed with a reason, which HAMi knows, and removes it.
func (n *node) refused(t *testing.T, name, reason string) {
	t.Helper()
	if pod := n.phase(t, name, corev1.PodFailed); !strings.Contains(pod.Status.Message, reason) {
		t.Errorf("the pod failed: %s", state(pod))
	}
	n.unlocked(t)
	n.bindPhase(t, name, "failed")
	n.remove(t, name)
}

// served waits until a pod runs with its slices and the lock is gone, and lets it end.
func (n *node) served(t *testing.T, name string, slices ...string) {
	t.Helper()
	pod := n.phase(t, name, corev1.PodRunning)
	n.unlocked(t)
	if pod.Spec.SchedulerName == cluster.HAMi {
		n.bindPhase(t, name, "success")
	}
	n.sliced(t, slices...)
	n.remove(t, name)
	n.sliced(t)
}

// interruptSlices does something to pods between their binding and the plugin's answer. The
// pod after them runs.
func (n *node) interruptSlices(t *testing.T, pod func(name string) *corev1.Pod) {
	t.Helper()
	signal := func(t *testing.T, name, command string) {
		t.Helper()
		n.must(t, "pkill", "-"+name, "-f", "^/metax-gpu-device "+command)
	}
	fails := func(t *testing.T, name string) {
		t.Helper()
		if p := n.phase(t, name, corev1.PodFailed); !isRefused(p) {
			t.Errorf("the pod failed: %s", state(p))
		}
		n.unlocked(t)
		if pod(name).Spec.SchedulerName == cluster.HAMi {
			n.bindPhase(t, name, "failed")
		}
		n.remove(t, name)
	}
	for _, row := range []struct {
		name string
		do   func(t *testing.T, name string)
	}{
		{"pod deleted", func(t *testing.T, name string) {
			signal(t, "STOP", "run")
			n.create(t, pod(name))
			n.locked(t, name)
			at := int64(0)
			if err := n.pods().Delete(within(t), name, metav1.DeleteOptions{GracePeriodSeconds: &at}); err != nil {
				t.Error(err)
			}
			signal(t, "CONT", "run")
		}},
		{"plugin killed before it looks at the lock", func(t *testing.T, name string) {
			signal(t, "STOP", "run")
			n.create(t, pod(name))
			n.locked(t, name)
			n.killPlugin(t)
			fails(t, name)
		}},
		{"plugin killed while the slice is made", func(t *testing.T, name string) {
			signal(t, "STOP", "health")
			n.create(t, pod(name))
			n.locked(t, name)
			time.Sleep(time.Second) // the plugin asks for the slice
			signal(t, "KILL", "run")
			signal(t, "CONT", "health") // a plugin is ready when it has a look at the GPUs
			fails(t, name)
			n.agent(t, "metax-gpu-device")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.do(t, "interrupted")
			n.unlocked(t)
			n.sliced(t)
			n.runs(t, pod("after"))
			n.unlocked(t)
			n.remove(t, "after")
			n.sliced(t)
		})
	}
}

// hamiPod is a pod with a container for each text: "2/10/1" requests two slices, each with 10
// percent of the compute units and 1 GiB of memory; with 0 GiB, all of it. "i" begins an init
// container, which ends at once, and "s" a sidecar.
func hamiPod(name string, containers ...string) *corev1.Pod {
	pod := probePod(name, 0, "pause")
	pod.Spec.SchedulerName = cluster.HAMi
	first := pod.Spec.Containers[0]
	pod.Spec.Containers = nil
	for i, text := range containers {
		c := *first.DeepCopy()
		size, isInit := strings.CutPrefix(text, "i")
		size, isSidecar := strings.CutPrefix(size, "s")
		var count, compute, memory int64
		if _, err := fmt.Sscanf(size, "%d/%d/%d", &count, &compute, &memory); err != nil {
			panic(err)
		}
		c.Name = fmt.Sprint("c", i)
		c.Resources.Limits = corev1.ResourceList{}
		for name, n := range map[corev1.ResourceName]int64{sliceResource: count, "metax-tech.com/vcore": compute, "metax-tech.com/vmemory": memory} {
			if n > 0 {
				c.Resources.Limits[name] = *resource.NewQuantity(n, resource.DecimalSI)
			}
		}
		switch {
		case isInit:
			c.Command = []string{"/probe", "look"}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		case isSidecar:
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		default:
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	return pod
}
