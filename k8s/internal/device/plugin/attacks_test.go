// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// The tables of this file are attacks on slices: what somebody writes who can make pods, or,
// where no admission policy holds, annotations of pods and Nodes, or files in directories that
// the plugin shares. Before each, pod "victim" has 40 percent and 40 GiB of GPU 0, in the
// class fixed-share, and pod "owner" has the whole GPU 1. Afterwards they have the same, and
// the attacker has nothing.

// attacked is a node with both pods and the attacker's.
func attacked(t *testing.T, attacker *corev1.Pod) *slicing {
	t.Helper()
	choose := func(i, compute, memory int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations[foreign.SlicesAnnotation] = fmt.Sprintf(`[[{"uuid":%q,"compute":%d,"vRam":%d}]]`, uuidOf(i), compute, memory)
			p.Annotations[foreign.QoSAnnotation] = gpu.QoSFixedShare
		}
	}
	s := newSlicing(t, "")
	for _, p := range []*corev1.Pod{sliced("victim", 1, choose(0, 40, 40960)), sliced("owner", 1, choose(1, 100, 65536))} {
		s.bind(p)
		s.lock(lockOf + p.Name)
		if _, err := s.give(1); err != nil {
			t.Fatal(err)
		}
		s.report(p.Name, starts)
		s.first++ // the kubelet gives nobody the devices of others
	}
	if attacker != nil {
		s.bind(attacker)
	}
	return s
}

// lock writes the lock of the Node.
func (s *slicing) lock(text string) {
	s.t.Helper()
	nodes := s.client.CoreV1().Nodes()
	n, err := nodes.Get(s.t.Context(), "node", metav1.GetOptions{})
	if err == nil {
		n.Annotations[foreign.LockAnnotation] = text
		_, err = nodes.Update(s.t.Context(), n, metav1.UpdateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// have is what pods have: by the record, the driver, and what schedulers and exporters are
// told.
func (s *slicing) have() string {
	s.t.Helper()
	var words []string
	view := s.State.view()
	for _, h := range s.State.view().record.Slices() {
		words = append(words, fmt.Sprintf("%s has %s/%d/%d/%s", h.Pod.Pod, h.UUID, h.Compute, h.MemoryMiB, h.QoS))
	}
	for _, g := range s.node.GPUs {
		for _, p := range g.Slices {
			words = append(words, fmt.Sprintf("GPU %d is cut: %d/%d/%s", g.Index, p.ComputePercent, p.MemoryMiB, p.QoS))
		}
	}
	return strings.Join(append(words, view.registration(), fmt.Sprint(s.files())), "\n")
}

func TestAttacks(t *testing.T) {
	type pod = func(*corev1.Pod)
	annotate := func(key, value string) pod { return func(p *corev1.Pod) { p.Annotations[key] = value } }
	chooses := func(text string) pod {
		for i := range 8 {
			text = strings.ReplaceAll(text, fmt.Sprint("GPU", i, "/"), `{"uuid":"`+uuidOf(i)+`","compute":`)
		}
		return annotate(foreign.SlicesAnnotation, strings.NewReplacer("/", `,"vRam":`, ";", "}").Replace(text))
	}
	const own = lockOf + "attacker"
	for _, attack := range []struct {
		what, lock string
		change     pod
		ids        int // for which the kubelet asks
		err, want  string
	}{
		// Annotations of the pod.
		{"more compute than is free", own, chooses("[[GPU0/61/1024;]]"), 1, "60% of its compute free", "free failed"},
		{"more memory than is free", own, chooses("[[GPU0/10/24577;]]"), 1, "", "free success"}, // it is given 24576
		{"128 MiB more than are free", own, chooses("[[GPU0/10/24704;]]"), 1, "24576 MiB of memory free", "free failed"},
		{"memory that overflows", own, chooses("[[GPU0/10/9223372036854775807;]]"), 1, "want MiB", "free failed"},
		{"negative memory", own, chooses("[[GPU0/10/-40960;]]"), 1, "want MiB", "free failed"},
		{"negative compute", own, chooses("[[GPU0/-40/1024;]]"), 1, "want 0 to 100", "free failed"},
		{"compute of more than a GPU", own, chooses("[[GPU0/140/1024;]]"), 1, "want 0 to 100", "free failed"},
		{"no compute", own, chooses("[[GPU0/0/1024;]]"), 1, "only pods of the class online", "free failed"},
		{"no memory", own, chooses("[[GPU0/10/0;]]"), 1, "want at least 128", "free failed"},
		{"the whole of a GPU with slices", own, chooses("[[GPU0/100/65536;]]"), 1, "is not free", "free failed"},
		{"a slice of a GPU that a pod has whole", own, chooses("[[GPU1/10/1024;]]"), 1, "is not free", "free failed"},
		{"a GPU that a pod has whole", own, chooses("[[GPU1/100/65536;]]"), 1, "is not free", "free failed"},
		{"another class", own, annotate(foreign.QoSAnnotation, gpu.QoSBestEffort), 1, "has slices of the class fixed-share", "free failed"},
		{"an unknown class", own, annotate(foreign.QoSAnnotation, "fixed-share\x1b[2J"), 1, "want best-effort", "free failed"},
		{"a GPU of another node", own, chooses(`[[{"uuid":"GPU-00000000-0000-0000-0000-000000000000","compute":10/1024;]]`), 1, "is not a GPU of this node", "free failed"},
		{"a path for a GPU", own, annotate(foreign.SlicesAnnotation, `[[{"uuid":"../../0000:0e:00.0","compute":10,"vRam":1024}]]`), 1, "is not the UUID of a GPU", "free failed"},
		{"more slices than the container requests", own, chooses("[[GPU2/10/1024;,GPU3/10/1024;]]"), 1, "the scheduler chose 2 slices", "free failed"},
		{"a second list", own, chooses("[[GPU2/10/1024;],[GPU3/10/1024;]]"), 1, "the scheduler chose 1+1 slices", "free failed"},
		{"fewer devices than it requests", own, nil, 2, "requests 1 slices, and the kubelet asks for 2", "free failed"},
		{"no slices", own, annotate(foreign.SlicesAnnotation, "[]"), 1, "the scheduler chose no slices", "free failed"},
		{"no JSON", own, annotate(foreign.SlicesAnnotation, "[[\x1b[2J"), 1, "is not a list of lists", "free failed"},
		{"JSON without an end", own, annotate(foreign.SlicesAnnotation, strings.Repeat("[", 1<<15)), 1, "is not a list of lists", "free failed"},
		{"a megabyte", own, annotate(foreign.SlicesAnnotation, strings.Repeat(" ", 1<<20)), 1, "at most 65536 are read", "free failed"},
		{"65 containers", own, annotate(foreign.SlicesAnnotation, "["+strings.Repeat("[],", 64)+"[]]"), 1, "65 lists", "free failed"},
		{"a phase that says it is done", own, func(p *corev1.Pod) {
			p.Annotations[foreign.PhaseAnnotation] = foreign.PhaseSuccess
			chooses("[[GPU0/61/1024;]]")(p)
		}, 1, "60% of its compute free", "free success"},
		// The lock of the Node.
		{"no lock", "", nil, 1, "no scheduler has locked the node", "free allocating"},
		{"the lock of a pod that has its slices", lockOf + "victim", nil, 1, "pod team/attacker also waits for slices", "free allocating"},
		{"the lock of a pod that is not there", lockOf + "nobody", nil, 1, "does not wait", "free allocating"},
		{"the lock of a pod in another namespace", "2026-11-22T16:52:48Z,other,attacker", nil, 1, "pod other/attacker", "free allocating"},
		{"a path for a pod", lockOf + "../../nodes/node", nil, 1, "want TIME,NAMESPACE,POD", "locked allocating"},
		{"a lock of two pods", own + ",victim", nil, 1, "want TIME,NAMESPACE,POD", "locked allocating"},
		{"a lock with escapes", lockOf + "\x1b[2J", nil, 1, `\x1b`, "locked allocating"},
		{"a long lock", lockOf + strings.Repeat("a", 1000), nil, 1, "at most 512", "locked allocating"},
		{"a pod of another node", own, func(p *corev1.Pod) { p.Spec.NodeName = "other" }, 1, "does not wait on this node", "free allocating"},
	} {
		t.Run(attack.what, func(t *testing.T) {
			attacker := sliced("attacker", 1, annotate(foreign.QoSAnnotation, gpu.QoSFixedShare))
			if attack.change != nil {
				attack.change(attacker)
			}
			s := attacked(t, attacker)
			s.lock(attack.lock)
			before := s.have()
			_, err := s.give(attack.ids)
			if got := s.state("attacker"); got != attack.want {
				t.Errorf("%s, want %s", got, attack.want)
			}
			if attack.err == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), attack.err) || strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 1000 {
				t.Errorf("got %v, want %s", err, attack.err)
			}
			if diff := cmp.Diff(before, s.have()); diff != "" {
				t.Errorf("somebody has something else: %s", diff)
			}
			s.Slices.Sweep(t.Context(), true)
			if diff := cmp.Diff(before, s.have()); diff != "" {
				t.Errorf("after a while, somebody has something else: %s", diff)
			}
		})
	}
}

// TestAttacksByFiles writes into the directories of the plugin, as somebody could who escaped
// from another container that has them.
func TestAttacksByFiles(t *testing.T) {
	record := func(s *slicing) string { return s.State.Store.Path }
	write := func(path func(*slicing) string, text string) func(*slicing) error {
		return func(s *slicing) error { return os.WriteFile(path(s), []byte(text), 0o600) }
	}
	replace := func(old, next string) func(*slicing) error {
		return func(s *slicing) error {
			text, err := os.ReadFile(record(s))
			if err == nil {
				err = os.WriteFile(record(s), []byte(strings.ReplaceAll(string(text), old, next)), 0o600)
			}
			return err
		}
	}
	for _, attack := range []struct {
		what   string
		do     func(*slicing) error
		starts bool // the plugin starts again with the file, and begins its record anew
	}{
		{"the record gives a slice to another pod", replace("victim", "attack"), true},
		{"the record of another boot", replace(`"boot":"boot"`, `"boot":"x"`), true},
		{"a record without an end", write(record, `{"apiVersion":"metax-ctk/allocations/v1","state":{"entries":[`), true},
		{"a link to another file", func(s *slicing) error {
			os.Remove(record(s))
			return os.Symlink("/etc/passwd", record(s))
		}, true},
		{"a file about a slice of the victim", func(s *slicing) error {
			for name := range s.files() {
				if err := os.WriteFile(filepath.Join(string(s.Slices.Files), name), []byte("id=attacker"), 0o644); err != nil {
					return err
				}
			}
			return nil
		}, false},
		{"a file about a slice that is not there", func(s *slicing) error {
			f := protocol.SliceFile{ID: "attacker", Alias: allocate.Alias("team", "attacker", 0)}
			return os.WriteFile(filepath.Join(string(s.Slices.Files), "SGPU-x"), []byte(f.String()), 0o644)
		}, false},
	} {
		t.Run(attack.what, func(t *testing.T) {
			s := attacked(t, nil)
			before, slices := s.have(), s.slices()
			if err := attack.do(s); err != nil {
				t.Fatal(err)
			}
			if !attack.starts {
				s.Slices.Sweep(t.Context(), false)
				if diff := cmp.Diff(before, s.have()); diff != "" {
					t.Error(diff)
				}
				return
			}
			s.State.Load()
			if held := s.State.view().record.Slices(); len(held) > 0 {
				t.Errorf("the record is believed: %v", held)
			}
			// Pods that the kubelet lists keep their slices, without a record too.
			s.State.SetListed([]allocations.Listed{{Container: allocations.Container{Namespace: "team", Pod: "victim", Name: "c0"}, IDs: []string{inventory.SliceID(s.node.GPUs[7].UUID, 0)}}})
			if s.Slices.Sweep(t.Context(), false); s.slices() != slices {
				t.Errorf("%d slices are left, want %d", s.slices(), slices)
			}
		})
	}
}
