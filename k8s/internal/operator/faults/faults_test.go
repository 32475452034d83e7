// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// node is a node of which a GPU is lost to each list of pods, with commas; "-" is no pod.
func node(name string, lost ...string) Node {
	n := Node{Name: name}
	for i, pods := range lost {
		f := protocol.Fault{UUID: gpu.UUID(fmt.Sprintf("GPU-%d", i)), Code: "missing"}
		for pod := range strings.SplitSeq(strings.Trim(pods, "-"), ",") {
			if pod != "" {
				f.Pods = append(f.Pods, protocol.PodName{Namespace: "n", Name: pod, UID: pod})
			}
		}
		n.Faults = append(n.Faults, f)
	}
	return n
}

func names(p Plan) (list []string) {
	for _, c := range p.Evict {
		list = append(list, c.Name)
	}
	return list
}

// TestPace: pods are evicted after a while, one after another, and those that stay come after
// the others.
func TestPace(t *testing.T) {
	var m Memory
	nodes := []Node{node("a", "p,q", "p"), node("b"), node("c", "r")}
	now := time.Unix(1000, 0)
	look := func(after time.Duration, again time.Duration, want ...string) {
		t.Helper()
		now = now.Add(after)
		p := m.Decide(Evict, nodes, now)
		if diff := cmp.Diff(want, names(p)); diff != "" || p.Again != again {
			t.Errorf("%s again %v", diff, p.Again)
		}
		if len(p.Evict) > 0 {
			m.Tried(p.Evict[0].UID, true, now)
		}
	}
	look(0, Settle)
	look(Settle-time.Second, time.Second)
	look(time.Second, Pace, "p", "q", "r")
	look(time.Second, Pace-time.Second)
	look(Pace, Pace, "q", "r", "p") // a budget keeps p
	look(Pace, Pace, "r", "p", "q")
	nodes[2].Faults = nil // back before it is evicted
	look(Pace, Pace, "p", "q")
	nodes[2] = node("c", "r") // lost again: from the beginning
	look(Pace, Pace, "q", "p")
	nodes[0].Faults = nil
	look(Pace, Settle-Pace)
}

// TestLogEvictsNobody: what a driver logs taints a node at most.
func TestLogEvictsNobody(t *testing.T) {
	n := node("a", "p", "q")
	n.Faults[0].Code = protocol.LoggedFatalCode
	var m Memory
	m.Decide(Evict, []Node{n}, time.Unix(0, 0))
	p := m.Decide(Evict, []Node{n}, time.Unix(0, 0).Add(Settle))
	if diff := cmp.Diff([]string{"q"}, names(p)); diff != "" || len(p.Changes) != 1 || p.Changes[0].Taints[0].Value != protocol.LoggedFatalCode {
		t.Errorf("%s %+v", diff, p.Changes)
	}
}

// TestHeld: what befalls a third of the nodes at once is no fault of GPUs.
func TestHeld(t *testing.T) {
	for _, test := range []struct {
		faulty, well int
		held         bool
	}{{1, 0, false}, {3, 0, false}, {4, 8, false}, {4, 7, true}, {400, 800, false}, {401, 799, true}} {
		var m Memory
		var nodes []Node
		for i := range test.faulty {
			nodes = append(nodes, node(fmt.Sprint("bad", i), fmt.Sprint("p", i)))
		}
		for i := range test.well {
			nodes = append(nodes, node(fmt.Sprint("well", i)))
		}
		m.Decide(Evict, nodes, time.Unix(0, 0))
		p := m.Decide(Evict, nodes, time.Unix(0, 0).Add(Settle))
		if (p.Held != "") != test.held || (len(p.Evict) == 0) != test.held || len(p.Changes) != test.faulty {
			t.Errorf("%+v: held %q, %d to evict, %d taints", test, p.Held, len(p.Evict), len(p.Changes))
		}
	}
}

// TestTaint: the taint has the reason, comes and goes with it, and leaves the taints of
// others.
func TestTaint(t *testing.T) {
	others := []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoExecute}, {Key: protocol.FatalTaint, Effect: corev1.TaintEffectNoExecute}}
	with := func(code string) []corev1.Taint {
		return append(append([]corev1.Taint{}, others...), corev1.Taint{Key: protocol.FatalTaint, Value: code, Effect: corev1.TaintEffectNoSchedule})
	}
	for _, test := range []struct {
		mode   Mode
		lost   bool
		before []corev1.Taint
		want   []corev1.Taint // nil is no change
	}{
		{None, true, others, nil},
		{None, true, with("missing"), others},
		{Taint, false, others, nil},
		{Taint, false, with("missing"), others},
		{Taint, true, others, with("missing")},
		{Evict, true, others, with("missing")},
		{Taint, true, with("missing"), nil},
		{Taint, true, with("vendor-7"), with("missing")},
	} {
		var m Memory
		n := node("a")
		if test.lost {
			n = node("a", "-", "p")
		}
		n.Taints = test.before
		p := m.Decide(test.mode, []Node{n}, time.Unix(0, 0))
		var got []corev1.Taint
		for _, c := range p.Changes {
			got = c.Taints
		}
		if diff := cmp.Diff(test.want, got); diff != "" || len(p.Evict) != 0 || test.mode != Evict && p.Again != 0 {
			t.Errorf("%s, lost %t: %s %+v", test.mode, test.lost, diff, p)
		}
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range []Mode{None, Taint, Evict} {
		if got, err := ParseMode(string(m)); err != nil || got != m {
			t.Errorf("%s: %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("drain"); err == nil || !strings.Contains(err.Error(), `"drain" is not a consequence`) {
		t.Error(err)
	}
}
