// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// stressPods is how many pods come and go; STRESS_PODS sets another number.
const stressPods = 60

// stressed is what the faults of the stress test act on.
type stressed struct {
	*kubelet
	child child

	admission sync.Mutex // a kubelet does not end in the middle of an admission here
	mu        sync.Mutex
	plugins   []*process // the last is the newest
}

func (s *stressed) startPlugin() *process {
	p := startProcess(s.t, s.child)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plugins = append(s.plugins, p)
	return p
}

// replacePlugin ends the plugin and starts another, as the kubelet does with the container;
// with overlap in the other order.
func (s *stressed) replacePlugin(signal syscall.Signal, overlap bool) {
	s.mu.Lock()
	old := s.plugins
	s.plugins = nil
	s.mu.Unlock()
	if overlap {
		s.startPlugin()
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
	}
	for _, p := range old {
		p.end(signal)
	}
	if !overlap {
		s.startPlugin()
	}
}

// setBad says which GPUs are broken.
func (s *stressed) setBad(gpus ...int) {
	text, err := json.Marshal(append([]int{}, gpus...))
	if err == nil {
		_, err = atomicfile.Write(s.child.Bad, text, atomicfile.Options{Perm: 0o600, NoSync: true})
	}
	if err != nil {
		s.t.Error(err)
	}
}

// faults are what happens while pods come and go.
func (s *stressed) faults() map[string]func() {
	return map[string]func(){
		"a GPU falls and recovers": func() {
			s.setBad(rand.IntN(8))
			time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
			s.setBad()
		},
		"the kubelet starts again": func() {
			s.admission.Lock()
			defer s.admission.Unlock()
			s.restart()
		},
		"the plugin is killed":  func() { s.replacePlugin(syscall.SIGKILL, false) },
		"the plugin is stopped": func() { s.replacePlugin(syscall.SIGTERM, false) },
		"two plugins overlap":   func() { s.replacePlugin(syscall.SIGTERM, true) },
		"the old one is killed": func() { s.replacePlugin(syscall.SIGKILL, true) },
		"the stream is lost":    s.loseStream,
		"the sockets are removed": func() {
			for _, path := range s.sockets() {
				os.Remove(path)
			}
		},
		"the host starts again": func() {
			s.admission.Lock()
			defer s.admission.Unlock()
			s.mu.Lock()
			for _, p := range s.plugins {
				p.end(syscall.SIGKILL)
			}
			s.plugins = nil
			s.mu.Unlock()
			os.Remove(s.child.Record)
			s.restart()
			s.startPlugin()
		},
	}
}

// TestStress lets pods come and go while each fault happens again and again. No GPU is given
// twice, a pod that has GPUs keeps them, every pod gets its GPUs in the end, and none is lost.
func TestStress(t *testing.T) {
	total := stressPods
	if text, ok := os.LookupEnv("STRESS_PODS"); ok {
		var err error
		if total, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	node, root := simulated(t, "c500-8")
	dir := t.TempDir()
	s := &stressed{kubelet: startKubelet(t)}
	s.child = child{
		Kubelet: s.dir, PodResources: s.podResources, Root: root, Node: node,
		Record: filepath.Join(dir, "allocations.json"), Bad: filepath.Join(dir, "bad.json"),
	}
	s.setBad()
	s.startPlugin()
	t.Cleanup(func() {
		for _, p := range s.plugins {
			p.end(syscall.SIGKILL)
		}
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(dir, "plugin.log"))
			t.Logf("the plugins said:\n%s", text[max(0, len(text)-20000):])
		}
	})
	s.await(8, 8)

	happened := map[string]int{}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		faults := s.faults()
		names := slices.Sorted(maps.Keys(faults))
		for i := 0; ; i++ {
			if i%len(names) == 0 {
				rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rand.IntN(40)) * time.Millisecond):
			}
			name := names[i%len(names)]
			faults[name]()
			happened[name]++
		}
	}()

	live := map[types.UID]*given{}
	refused := map[string]int{}
	for i := range total {
		for used(live) > rand.IntN(6) {
			s.end(live)
		}
		s.place(t, live, refused, i)
	}
	close(stop)
	<-stopped
	for len(live) > 0 {
		s.end(live)
	}
	s.setBad()
	until(t, func() error {
		pod := newPod("whole", "8")
		defer s.forget(pod)
		return s.admit(pod)
	})
	s.await(8, 8)
	for _, name := range slices.Sorted(maps.Keys(s.faults())) {
		if happened[name] == 0 {
			t.Errorf("it never happened that %s", name)
		}
	}
	t.Logf("%d pods; faults: %v; refused by the kubelet: %v", total, happened, refused)
}

// given is a pod with the devices that it had at first.
type given struct {
	pod *corev1.Pod
	ids []string
}

func used(live map[types.UID]*given) (n int) {
	for _, g := range live {
		n += len(g.ids)
	}
	return n
}

// place lets a pod come until the kubelet admits it, as a ReplicaSet does, and checks all
// pods.
func (s *stressed) place(t *testing.T, live map[types.UID]*given, refused map[string]int, i int) {
	t.Helper()
	shape := [][]string{{"1"}, {"2"}, {"2i", "2"}, {"1", "1"}}[rand.IntN(4)]
	limit := time.Now().Add(time.Minute)
	for try := 0; ; try++ {
		pod := newPod(fmt.Sprintf("pod-%d-%d", i, try), shape...)
		s.admission.Lock()
		err := s.admit(pod)
		if err == nil {
			g := &given{pod, s.all(pod)}
			live[pod.UID] = g
			if want := map[bool]int{true: 1, false: 2}[len(shape) == 1 && shape[0] == "1"]; len(g.ids) != want {
				t.Errorf("%s has %v, want %d devices", pod.Name, g.ids, want)
			}
		}
		s.check(t, live)
		s.admission.Unlock()
		if err == nil {
			return
		}
		refused[reason(err)]++
		if time.Now().After(limit) {
			t.Fatalf("%s: %v", pod.Name, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// check compares the devices of all pods: each pod keeps its own, and no two have one in
// common.
func (s *stressed) check(t *testing.T, live map[types.UID]*given) {
	t.Helper()
	owner := map[string]string{}
	for _, g := range live {
		now := s.all(g.pod)
		if !slices.Equal(now, g.ids) {
			t.Fatalf("%s had %v and has %v", g.pod.Name, g.ids, now)
		}
		for _, id := range now {
			if other, taken := owner[id]; taken {
				t.Fatalf("%s and %s both have %s", g.pod.Name, other, id)
			}
			owner[id] = g.pod.Name
		}
	}
}

// all returns the devices of a pod, ascending.
func (s *stressed) all(pod *corev1.Pod) []string {
	var ids []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		ids = append(ids, s.devices(pod, c.Name)...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// end ends one of the pods.
func (s *stressed) end(live map[types.UID]*given) {
	uids := slices.Sorted(maps.Keys(live))
	uid := uids[rand.IntN(len(uids))]
	s.forget(live[uid].pod)
	delete(live, uid)
}

// reason is a refusal without the names in it.
func reason(err error) string {
	text := err.Error()
	for _, known := range []string{
		"rpc error", "no healthy devices present", "unregistered device", "has been stopped", "Requested", "Unavailable", "is unhealthy", "unknown Device Plugin",
	} {
		if strings.Contains(text, known) {
			return known
		}
	}
	return text
}
