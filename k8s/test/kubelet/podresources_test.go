// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"

	client "github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// servePodResources serves the kubelet's own PodResourcesLister for its device manager.
func (k *kubelet) servePodResources() {
	k.podResources = filepath.Join(k.t.TempDir(), "k.sock")
	listener, err := net.Listen("unix", k.podResources)
	if err != nil {
		k.t.Fatal(err)
	}
	server := grpc.NewServer()
	api.RegisterPodResourcesListerServer(server, podresources.NewV1PodResourcesServer(context.Background(), podresources.PodResourcesProviders{
		Pods: pods{k}, Devices: devices{k}, Cpus: others{}, Memory: others{}, DynamicResources: others{},
	}))
	go server.Serve(listener)
	k.t.Cleanup(server.Stop)
}

type pods struct{ *kubelet }

func (p pods) GetActivePods() []*corev1.Pod                    { return p.active() }
func (p pods) GetPods() []*corev1.Pod                          { return p.active() }
func (p pods) GetPodByName(string, string) (*corev1.Pod, bool) { return nil, false }

type devices struct{ *kubelet }

func (d devices) now() *devicemanager.ManagerImpl {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.manager
}

func (d devices) UpdateAllocatedDevices() { d.now().UpdateAllocatedDevices() }

func (d devices) GetDevices(pod, container string) []*api.ContainerDevices {
	return messages(d.now().GetDevices(pod, container))
}

func (d devices) GetAllocatableDevices() []*api.ContainerDevices {
	return messages(d.now().GetAllocatableDevices())
}

// messages has one message for each device, as the kubelet makes them.
func messages(all devicemanager.ResourceDeviceInstances) (list []*api.ContainerDevices) {
	for resource, instances := range all {
		for id, d := range instances {
			m := &api.ContainerDevices{ResourceName: resource, DeviceIds: []string{id}}
			for _, n := range d.GetTopology().GetNodes() {
				m.Topology = &api.TopologyInfo{Nodes: []*api.NUMANode{{ID: n.ID}}}
			}
			list = append(list, m)
		}
	}
	return list
}

// others are the resources that no test has.
type others struct{}

func (others) GetCPUs(string, string) []int64                  { return nil }
func (others) GetAllocatableCPUs() []int64                     { return nil }
func (others) GetMemory(string, string) []*api.ContainerMemory { return nil }
func (others) GetAllocatableMemory() []*api.ContainerMemory    { return nil }
func (others) GetDynamicResources(*corev1.Pod, *corev1.Container) []*api.DynamicResource {
	return nil
}

// TestPodResources reads what the kubelet's own server answers.
func TestPodResources(t *testing.T) {
	node, root := simulated(t, "c500-8")
	k := startKubelet(t)
	d := startPlugin(t, k, node, root)
	k.await(8, 8)
	c := client.New(k.podResources)
	if ids, err := plugin.Known(c, protocol.Resource)(t.Context()); err != nil || len(ids) != 8 {
		t.Errorf("the kubelet knows %v, %v", ids, err)
	}
	pod := newPod("pod", "4i", "2")
	if err := k.admit(pod); err != nil {
		t.Fatal(err)
	}
	got, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Pod != "pod" || got[0].Name != "c1" || len(got[0].Devices[protocol.Resource]) != 2 {
		t.Fatalf("the kubelet lists %v", got)
	}
	d.allocator.State.SetListed([]allocations.Listed{{Container: allocations.Container{Namespace: "default", Pod: "pod", Name: "c1"}, IDs: got[0].Devices[protocol.Resource]}})
	if diff := cmp.Diff(k.devices(pod, "c0"), d.inUse()); diff != "" {
		t.Errorf("what the init container has is in use too: %s", diff)
	}
}
