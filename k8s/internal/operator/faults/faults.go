// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Mode is what follows a Fault.
type Mode string

// The modes, each with what the one before does.
const (
	None  Mode = "none"
	Taint Mode = "taint" // no new pods on the node
	Evict Mode = "evict"
)

// ParseMode reads the name of a Mode.
func ParseMode(name string) (Mode, error) {
	if m := Mode(name); slices.Contains([]Mode{None, Taint, Evict}, m) {
		return m, nil
	}
	return "", fmt.Errorf("%q is not a consequence of a lost GPU; want %s, %s or %s", name, None, Taint, Evict)
}

const (
	// Settle is how long a Fault lasts before a pod is evicted for it.
	Settle = time.Minute
	// Pace is the time between two evictions of the cluster.
	Pace = 10 * time.Second
	// fewNodes may always have Faults. If more have some, and more than a third of all, that
	// is hardly the GPUs: then nothing is evicted.
	fewNodes = 3
)

// Node is a node with GPUs, or with the taint.
type Node struct {
	Name    string
	Version string // of the object
	Taints  []corev1.Taint
	Faults  protocol.Faults
}

// Memory is what earlier looks found. Without it, as after a restart, Faults begin now.
type Memory struct {
	began map[string]time.Time // of a Fault, by node and UUID
	tried map[string]time.Time // by UID of the pod
	last  time.Time            // eviction
}

// Change is a node that gets other taints.
type Change struct {
	Node    Node
	Taints  []corev1.Taint // all of them
	Message string
}

// Candidate is a pod to evict.
type Candidate struct {
	protocol.PodName
	Node  string
	Fault protocol.Fault
}

// Plan is what to do.
type Plan struct {
	Changes []Change
	// Evict are the pods of which the first one that is still there may be evicted now; those
	// that were tried longest ago come first.
	Evict []Candidate
	// Again is when to decide again; 0 is when a node changes.
	Again time.Duration
	// Held is why no pod is evicted although some have a lost GPU; empty otherwise.
	Held string
}

// Decide returns what to do about all nodes.
func (m *Memory) Decide(mode Mode, nodes []Node, now time.Time) (p Plan) {
	m.keepCurrent(nodes, now)
	faulty := 0
	for _, n := range nodes {
		if len(n.Faults) > 0 {
			faulty++
		}
		if c, ok := taintChange(mode, n); ok {
			p.Changes = append(p.Changes, c)
		}
	}
	if mode != Evict {
		return p
	}
	soon := func(d time.Duration) {
		if p.Again == 0 || d < p.Again {
			p.Again = d
		}
	}
	for _, n := range nodes {
		for _, f := range n.Faults {
			if f.Code == protocol.LoggedFatalCode {
				continue // a log alone ends no pod
			}
			if rest := m.began[faultKey(n, f)].Add(Settle).Sub(now); rest > 0 {
				soon(rest)
				continue
			}
			for _, pod := range f.Pods {
				p.Evict = append(p.Evict, Candidate{pod, n.Name, f})
			}
		}
	}
	if len(p.Evict) > 0 && faulty > fewNodes && faulty*3 > len(nodes) {
		p.Held, p.Evict = fmt.Sprintf("%d of %d nodes with GPUs report lost GPUs at once: that is hardly the GPUs", faulty,
			len(nodes)), nil
	}
	if len(p.Evict) == 0 {
		return p
	}
	soon(Pace)
	if rest := m.last.Add(Pace).Sub(now); rest > 0 {
		p.Evict = nil
		soon(rest)
	}
	slices.SortFunc(p.Evict, func(a, b Candidate) int {
		return cmp.Or(m.tried[a.UID].Compare(m.tried[b.UID]), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name))
	})
	p.Evict = slices.CompactFunc(p.Evict, func(a, b Candidate) bool { return a.UID == b.UID })
	return p
}

// Tried notes that a pod was evicted, or need not be. Another look goes on with the pods
// behind it.
func (m *Memory) Tried(uid string, evicted bool, now time.Time) {
	m.tried[uid] = now
	if evicted {
		m.last = now
	}
}

func faultKey(n Node, f protocol.Fault) string { return n.Name + " " + strings.ToLower(string(f.UUID)) }

// keepCurrent forgets what is not there any more.
func (m *Memory) keepCurrent(nodes []Node, now time.Time) {
	began, tried := map[string]time.Time{}, map[string]time.Time{}
	for _, n := range nodes {
		for _, f := range n.Faults {
			at, ok := m.began[faultKey(n, f)]
			if !ok {
				at = now
			}
			began[faultKey(n, f)] = at
			for _, pod := range f.Pods {
				if at, ok := m.tried[pod.UID]; ok {
					tried[pod.UID] = at
				}
			}
		}
	}
	m.began, m.tried = began, tried
}

// taintChange is what becomes of the taint of a node.
func taintChange(mode Mode, n Node) (c Change, needed bool) {
	isOurs := func(t corev1.Taint) bool {
		return t.Key == protocol.FatalTaint && t.Effect == corev1.TaintEffectNoSchedule
	}
	at := slices.IndexFunc(n.Taints, isOurs)
	rest := slices.DeleteFunc(slices.Clone(n.Taints), isOurs)
	if mode == None || len(n.Faults) == 0 {
		return Change{n, rest, "its GPUs are back, or nothing is to follow"}, at >= 0
	}
	first := n.Faults[0]
	if at >= 0 && n.Taints[at].Value == first.Code {
		return c, false
	}
	ours := corev1.Taint{Key: protocol.FatalTaint, Value: first.Code, Effect: corev1.TaintEffectNoSchedule}
	return Change{n, append(rest, ours), fmt.Sprintf("GPU %s is lost: %s", first.UUID, first.Code)}, true
}
