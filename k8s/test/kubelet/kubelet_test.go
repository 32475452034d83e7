// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	cadvisorapi "github.com/google/cadvisor/info/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// newManager makes the kubelet's device manager with its socket at a path of the test's; the
// exported function has a fixed one.
//
//go:linkname newManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newManager(socket string, topology []cadvisorapi.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error)

// kubelet is as much of a kubelet as device plugins see.
type kubelet struct {
	t       testing.TB
	dir     string
	mu      sync.Mutex
	manager *devicemanager.ManagerImpl
	pods    map[types.UID]*corev1.Pod
	// topology is the kubelet's topology manager, whose policy can be none.
	topology topologymanager.Manager
	policy   string
	// podResources is the socket on which it lists the devices of pods.
	podResources string
}

// startKubelet starts a kubelet with a directory of device plugins of its own. A policy is
// that of its topology manager.
func startKubelet(t testing.TB, policy ...string) *kubelet {
	t.Helper()
	dir, err := os.MkdirTemp("", "plugins") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	k := &kubelet{t: t, dir: dir, pods: map[types.UID]*corev1.Pod{}, policy: topologymanager.PolicyNone}
	for _, p := range policy {
		k.policy = p
	}
	k.start(true)
	k.servePodResources()
	t.Cleanup(k.stop)
	return k
}

// sources is whether the kubelet knows all its pods.
type sources bool

func (s sources) AddSource(string) {}
func (s sources) AllReady() bool   { return bool(s) }

func (k *kubelet) start(ready bool) {
	k.t.Helper()
	topology, err := topologymanager.NewManager(twoNUMANodes, k.policy, "container", nil)
	if err != nil {
		k.t.Fatal(err)
	}
	m, err := newManager(filepath.Join(k.dir, "kubelet.sock"), twoNUMANodes, topology)
	if err != nil {
		k.t.Fatal(err)
	}
	topology.AddHintProvider(m)
	k.topology = topology
	k.mu.Lock()
	k.manager = m
	k.mu.Unlock()
	if err := m.Start(k.active, sources(ready), containermap.NewContainerMap(), sets.New[string]()); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kubelet) stop() {
	if err := k.manager.Stop(); err != nil {
		k.t.Error(err)
	}
}

// restart ends the kubelet and starts another, which reads the checkpoint.
func (k *kubelet) restart() {
	k.stop()
	k.start(true)
}

func (k *kubelet) active() []*corev1.Pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []*corev1.Pod
	for _, p := range k.pods {
		list = append(list, p)
	}
	return list
}

// admit does what the kubelet does with a new pod: its topology manager lets the device
// manager allocate for each container in turn. A pod that it rejects is forgotten.
func (k *kubelet) admit(pod *corev1.Pod) error {
	k.mu.Lock()
	k.pods[pod.UID] = pod
	k.mu.Unlock()
	result := k.topology.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
	if !result.Admit {
		k.forget(pod)
		return fmt.Errorf("%s: %s", result.Reason, result.Message)
	}
	return nil
}

// forget ends a pod.
func (k *kubelet) forget(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pods, pod.UID)
}

// devices returns the devices of a container, ascending.
func (k *kubelet) devices(pod *corev1.Pod, container string) []string {
	var ids []string
	for id := range k.manager.GetDevices(string(pod.UID), container)[protocol.Resource] {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// cdi returns the CDI names with which the engine is asked to start a container.
func (k *kubelet) cdi(pod *corev1.Pod, c corev1.Container) ([]string, error) {
	options, err := k.manager.GetDeviceRunContainerOptions(pod, &c)
	if err != nil {
		return nil, err
	}
	if options == nil {
		return nil, errors.New("the kubelet knows nothing of the container")
	}
	var names []string
	for _, d := range options.CDIDevices {
		names = append(names, d.Name)
	}
	return names, nil
}

// capacity returns how many devices the node has and how many of them are healthy.
func (k *kubelet) capacity() (capacity, allocatable int64) {
	all, healthy, _ := k.manager.GetCapacity()
	return quantity(all), quantity(healthy)
}

func quantity(l corev1.ResourceList) int64 {
	q := l[protocol.Resource]
	return q.Value()
}

// await waits until the node has so many devices and so many healthy ones.
func (k *kubelet) await(capacity, allocatable int64) {
	k.t.Helper()
	until(k.t, func() error {
		if c, a := k.capacity(); c != capacity || a != allocatable {
			return fmt.Errorf("the node has %d devices, %d of them healthy; want %d and %d", c, a, capacity, allocatable)
		}
		return nil
	})
}

// until waits until check has no error any more.
func until(t testing.TB, check func() error) {
	t.Helper()
	limit := time.Now().Add(time.Minute)
	for err := check(); err != nil; err = check() {
		if time.Now().After(limit) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// newPod makes a pod with a container for each count of GPUs. "4i" is an init container.
func newPod(name string, counts ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)}}
	for i, count := range counts {
		number, init := strings.CutSuffix(count, "i")
		c := corev1.Container{Name: fmt.Sprintf("c%d", i), Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{protocol.Resource: resource.MustParse(number)},
		}}
		if init {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		} else {
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	return pod
}
