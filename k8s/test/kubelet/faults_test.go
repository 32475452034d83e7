// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// sockets returns the names of the plugins' sockets.
func (k *kubelet) sockets() []string {
	found, err := filepath.Glob(filepath.Join(k.dir, "metax-gpu-device-*.sock"))
	if err != nil {
		k.t.Fatal(err)
	}
	return found
}

// loseStream ends the kubelet's connection with the plugin, as an error of the connection
// does.
func (k *kubelet) loseStream() {
	k.manager.GetWatcherHandler().DeRegisterPlugin(protocol.Resource, "")
}

// TestRegistersAgain has each event after which the kubelet does not connect by itself.
func TestRegistersAgain(t *testing.T) {
	node, root := simulated(t, "c500-8")
	for _, test := range []struct {
		name string
		do   func(*testing.T, *kubelet, *device)
	}{
		{"the kubelet starts again", func(_ *testing.T, k *kubelet, _ *device) { k.restart() }},
		{"the stream ends", func(_ *testing.T, k *kubelet, _ *device) { k.loseStream() }},
		{"the socket is removed", func(t *testing.T, k *kubelet, _ *device) {
			before := k.sockets()
			for _, s := range before {
				if err := os.Remove(s); err != nil {
					t.Fatal(err)
				}
			}
			until(t, func() error {
				if now := k.sockets(); len(now) != 1 || slices.Equal(now, before) {
					return fmt.Errorf("sockets are %v", now)
				}
				return nil
			})
		}},
		{"another plugin of the resource comes and goes", func(t *testing.T, k *kubelet, _ *device) {
			other := startPlugin(t, k, node, root)
			until(t, func() error {
				if !other.Registered() || len(k.sockets()) != 2 {
					return fmt.Errorf("registered: %t, sockets: %v", other.Registered(), k.sockets())
				}
				return nil
			})
			other.stop()
		}},
		{"a plugin is replaced", func(t *testing.T, k *kubelet, d *device) {
			other := startPlugin(t, k, node, root)
			until(t, func() error {
				if !other.Registered() {
					return fmt.Errorf("the new plugin is not registered")
				}
				return nil
			})
			d.stop()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := startKubelet(t)
			d := startPlugin(t, k, node, root)
			k.await(8, 8)
			pod := newPod("before", "4")
			if err := k.admit(pod); err != nil {
				t.Fatal(err)
			}
			had := k.devices(pod, "c0")
			test.do(t, k, d)
			until(t, func() error { // the kubelet may still have the devices of the session before
				late := newPod("after", "4")
				defer k.forget(late)
				return k.admit(late)
			})
			k.await(8, 8)
			if diff := cmp.Diff(had, k.devices(pod, "c0")); diff != "" {
				t.Error(diff)
			}
			if _, err := k.cdi(pod, pod.Spec.Containers[0]); err != nil {
				t.Error(err)
			}
			until(t, func() error {
				if s := k.sockets(); len(s) != 1 {
					return fmt.Errorf("sockets are %v", s)
				}
				return nil
			})
		})
	}
}

// TestStops leaves no socket behind.
func TestStops(t *testing.T) {
	node, root := simulated(t, "c500-8")
	k := startKubelet(t)
	d := startPlugin(t, k, node, root)
	k.await(8, 8)
	d.stop()
	k.await(8, 0)
	if s := k.sockets(); len(s) != 0 {
		t.Errorf("sockets are %v", s)
	}
}

// TestKilled kills the plugin in each call of the kubelet. The pod is refused or has its GPUs,
// and with the next plugin every GPU is given, each once.
func TestKilled(t *testing.T) {
	node, root := simulated(t, "c500-8")
	for _, call := range []string{inPreferred, inAllocate, inRecorded, inPreStart} {
		t.Run(call, func(t *testing.T) {
			k, dir := startKubelet(t), t.TempDir()
			c := child{
				Kubelet: k.dir, PodResources: k.podResources, Root: root, Node: node,
				Record: filepath.Join(dir, "allocations.json"), Bad: filepath.Join(dir, "bad.json"), Dies: call,
			}
			if err := os.WriteFile(c.Bad, []byte("[]"), 0o600); err != nil {
				t.Fatal(err)
			}
			killed := startProcess(t, c)
			defer killed.end(syscall.SIGKILL)
			k.await(8, 8)
			first := newPod("first", "2")
			err := k.admit(first)
			if call == inPreStart {
				if err != nil {
					t.Fatal(err)
				}
				_, err = k.cdi(first, first.Spec.Containers[0])
			}
			if err == nil {
				t.Fatal("the plugin was not killed")
			}
			<-killed.ended
			c.Dies = ""
			next := startProcess(t, c)
			defer next.end(syscall.SIGKILL)
			given := k.devices(first, "c0") // none if the kubelet refused the pod
			rest := newPod("rest", fmt.Sprint(8-len(given)))
			until(t, func() error { return k.admit(rest) })
			if s := k.sockets(); len(s) != 1 {
				t.Errorf("sockets are %v, want that of the next plugin", s)
			}
			given = append(given, k.devices(rest, "c0")...)
			slices.Sort(given)
			if all := slices.Compact(slices.Clone(given)); len(all) != 8 || len(given) != 8 {
				t.Errorf("the GPUs %v are given, want each of eight once", given)
			}
			if call == inPreStart {
				if _, err := k.cdi(first, first.Spec.Containers[0]); err != nil {
					t.Errorf("the container does not start with the next plugin: %v", err)
				}
			}
			k.await(8, 8)
		})
	}
}

// TestReboot: the kubelet starts containers with the answers of its checkpoint before the
// plugin is back.
func TestReboot(t *testing.T) {
	node, root := simulated(t, "c500-8")
	k := startKubelet(t)
	d := startPlugin(t, k, node, root)
	k.await(8, 8)
	pod := newPod("pod", "2")
	if err := k.admit(pod); err != nil {
		t.Fatal(err)
	}
	before, err := k.cdi(pod, pod.Spec.Containers[0])
	if err != nil {
		t.Fatal(err)
	}
	d.stop()
	k.restart()
	after, err := k.cdi(pod, pod.Spec.Containers[0])
	if diff := cmp.Diff(before, after); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	startPlugin(t, k, node, root)
	k.await(8, 8)
}

// TestInitContainers hands the GPUs of an init container on, and keeps them until the pod
// ends.
func TestInitContainers(t *testing.T) {
	node, root := simulated(t, "c500-8")
	k := startKubelet(t)
	d := startPlugin(t, k, node, root)
	k.await(8, 8)
	pod := newPod("pod", "4i", "2", "2")
	if err := k.admit(pod); err != nil {
		t.Fatal(err)
	}
	handed := slices.Sorted(slices.Values(slices.Concat(k.devices(pod, "c1"), k.devices(pod, "c2"))))
	if diff := cmp.Diff(k.devices(pod, "c0"), handed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(handed, d.inUse()); diff != "" {
		t.Errorf("in use by our record: %s", diff)
	}
}

// TestPreStart looks at the GPUs again before a container starts.
func TestPreStart(t *testing.T) {
	node, root := simulated(t, "c500-8")
	k := startKubelet(t)
	d := startPlugin(t, k, node, root)
	k.await(8, 8)
	pod := newPod("pod", "2")
	if err := k.admit(pod); err != nil {
		t.Fatal(err)
	}
	start := func(want string) {
		t.Helper()
		_, err := k.cdi(pod, pod.Spec.Containers[0])
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want an error with %q", err, want)
		}
	}
	start("")
	d.look(1)
	start("GPU 1 (" + string(node.GPUs[1].UUID))
	d.look(5)
	start("") // the other pod's GPU is not this one's
	card := filepath.Join(root, node.GPUs[0].Nodes[0])
	if err := os.Rename(card, card+".gone"); err != nil {
		t.Fatal(err)
	}
	start("GPU 0 (" + string(node.GPUs[0].UUID) + ") cannot be used")
}

// TestUnhealthy: Capacity counts a broken GPU unless it leaves the list.
func TestUnhealthy(t *testing.T) {
	node, root := simulated(t, "c500-8")
	k := startKubelet(t)
	d := startPlugin(t, k, node, root)
	k.await(8, 8)
	d.look(2)
	k.await(8, 7)
	d.list.HideUnhealthy = true
	d.look(2)
	d.later = plugin.HideAfter
	d.look(2)
	k.await(7, 7)
	seven := newPod("seven", "7")
	if err := k.admit(seven); err != nil {
		t.Error(err)
	}
	if err := k.admit(newPod("one", "1")); err == nil {
		t.Error("the broken GPU was given")
	}
}

// TestVirtualFunctions counts GPUs × functions, with one GPU broken.
func TestVirtualFunctions(t *testing.T) {
	for _, vfs := range []int64{0, 1, 2, 4, 8} {
		t.Run(fmt.Sprint(vfs), func(t *testing.T) {
			node := named(gpu.NewNode("vfs"))
			for i := range 4 {
				g := gpu.GPU{Index: i, Healthy: true, NUMA: gpu.NUMAUnknown}
				for v := range vfs {
					bdf := gpu.BDF{Bus: uint8(i + 1), Device: uint8(v + 1)}
					g.VFs = append(g.VFs, bdf)
					g.Slices = append(g.Slices, gpu.Slice{Kind: gpu.SliceVF, Index: int(v), BDF: bdf, Nodes: []string{fmt.Sprintf("/dev/dri/card%d%d", i+1, v)}})
				}
				node.GPUs = append(node.GPUs, g)
			}
			node = named(node)
			k := startKubelet(t)
			d := startPlugin(t, k, node, t.TempDir())
			each := max(vfs, 1)
			k.await(4*each, 4*each)
			d.look(2)
			k.await(4*each, 3*each)
			pod := newPod("all", fmt.Sprint(3*each))
			if err := k.admit(pod); err != nil {
				t.Fatal(err)
			}
			for _, id := range k.devices(pod, "c0") {
				if strings.HasPrefix(id, string(node.GPUs[2].UUID)) {
					t.Errorf("%s of the broken GPU was given", id)
				}
			}
		})
	}
}
