// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// Facts are what is known of a node at one time.
type Facts struct {
	Node  gpu.Node
	State health.State
	// InUse are the GPUs, by index, of which pods use all or some; Outside are those that
	// others use, such as leases of the node tool.
	InUse, Outside []int
	// Holders are the pods that have GPUs, in a fixed order.
	Holders []Holder
	Mode    protocol.Mode
	// Registration is what schedulers are told of slices; empty if there are none.
	Registration string
	// Blocked is why Mode is not the configured one; empty if it is.
	Blocked string
	// Edited is which of the chart's values do not hold; empty if all do.
	Edited string
}

// Holder is a pod that has a GPU or a part of it.
type Holder struct {
	GPU gpu.UUID
	Pod protocol.PodName
}

// Values are what is written of Facts, without a generation and without times.
type Values struct {
	Annotations map[string]string
	State       protocol.NodeState // its Generation is 0
	Conditions  []Condition        // always of the same types
}

// Condition is a condition of the Node without its times.
type Condition struct {
	Type            string
	True            bool
	Reason, Message string
}

// maker makes Values, and keeps what only the Node decides. The zero maker is ready.
type maker struct {
	node   gpu.Node
	scale  protocol.Scale
	static map[string]string // the annotations that do not change with the state
	err    error
	last   Values
}

// values returns the values of Facts. An error says which annotations are left out and why;
// the other values are valid nevertheless.
func (m *maker) values(f Facts) (Values, error) {
	if m.static == nil || !reflect.DeepEqual(m.node, f.Node) {
		m.set(f.Node)
	}
	v := Values{Annotations: maps.Clone(m.static), State: stateOf(f)}
	v.Conditions = []Condition{unhealthy(f.State), pending(f), lostCondition(f.State)}
	if reflect.DeepEqual(v.State, m.last.State) && m.last.Annotations != nil {
		v.Annotations = maps.Clone(m.last.Annotations)
	} else if scores, losses, err := m.scale.Tables(v.State.Free); err != nil {
		return v, fmt.Errorf("no scores are published: %w", err)
	} else {
		v.Annotations[protocol.ScoresAnnotation], v.Annotations[protocol.LossesAnnotation] = scores.String(), losses.String()
	}
	for name, text := range map[string]string{
		foreign.RegistrationAnnotation: f.Registration,
		protocol.FaultsAnnotation:      faultsText(f),
	} {
		if delete(v.Annotations, name); text != "" {
			v.Annotations[name] = text
		}
	}
	m.last = v
	return v, m.err
}

func (m *maker) set(n gpu.Node) {
	graph, _ := topology.New(n)
	*m = maker{node: n, scale: protocol.NewScale(graph), static: map[string]string{}}
	t, err := protocol.NewNodeTopology(n)
	if err != nil {
		m.err = fmt.Errorf("no topology is published: %w", err)
		return
	}
	m.static[protocol.NodeAnnotation] = t.String()
}

// stateOf returns which GPUs can be given. A GPU that the State does not know is excluded, and
// neither free nor unhealthy.
func stateOf(f Facts) protocol.NodeState {
	s := protocol.NodeState{GPUs: len(f.Node.GPUs)}
	for _, g := range f.Node.GPUs {
		at := indexOf(f.State, g)
		if at < 0 {
			continue
		}
		healthy, outside := f.State.GPUs[at].Health == health.Healthy, slices.Contains(f.Outside, g.Index)
		if !healthy {
			s.Unhealthy = append(s.Unhealthy, g.Index)
		}
		if outside {
			s.Outside = append(s.Outside, g.Index)
		}
		if healthy && !outside && g.Mode == "" && !slices.Contains(f.InUse, g.Index) {
			s.Free = append(s.Free, g.Index)
		}
	}
	return s
}

// faultsText returns the FaultsAnnotation, "" without any.
func faultsText(f Facts) string {
	var all protocol.Faults
	for _, c := range f.State.GPUs {
		if !isLost(c) || c.UUID == "" {
			continue
		}
		one := protocol.Fault{UUID: c.UUID, Code: c.Code}
		for _, h := range f.Holders {
			if c.UUID.Equal(string(h.GPU)) {
				one.Pods = append(one.Pods, h.Pod)
			}
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return ""
	}
	return all.String()
}

// indexOf returns the index of a GPU in the State, -1 if it is not there.
func indexOf(s health.State, g gpu.GPU) int {
	key := health.GPU{Index: g.Index, BDF: g.BDF}.Key()
	return slices.IndexFunc(s.GPUs, func(c health.Condition) bool { return c.Key() == key })
}

// maxMessage bounds the message of a condition, in bytes.
const maxMessage = 1024

// unhealthy says whether GPUs are unhealthy, and which, for people.
func unhealthy(s health.State) Condition {
	var broken []string
	for _, c := range s.GPUs {
		if c.Health != health.Healthy {
			broken = append(broken, describe(c))
		}
	}
	if len(broken) == 0 {
		return Condition{
			Type: protocol.UnhealthyCondition, True: false, Reason: "AllGPUsHealthy",
			Message: wording.Count(len(s.GPUs), "GPU") + ", all healthy",
		}
	}
	return Condition{
		Type: protocol.UnhealthyCondition, True: true, Reason: "GPUsUnhealthy",
		Message: wording.Short(strings.Join(broken, "; "), maxMessage),
	}
}

// lostCondition says whether GPUs are lost to the pods that have them, and which, for people
// and for programs that repair nodes.
func lostCondition(s health.State) Condition {
	var gone []string
	for _, c := range s.GPUs {
		if isLost(c) {
			gone = append(gone, describe(c))
		}
	}
	if len(gone) == 0 {
		return Condition{
			Type: protocol.LostCondition, Reason: "NoGPULost",
			Message: "no GPU is lost to the pods that have it",
		}
	}
	return Condition{
		Type: protocol.LostCondition, True: true, Reason: "GPUsLost",
		Message: wording.Short(strings.Join(gone, "; "), maxMessage),
	}
}

func isLost(c health.Condition) bool { return c.Health == health.Unhealthy && protocol.IsFatal(c.Code) }

// pending says whether the mode is not the configured one, and why.
func pending(f Facts) Condition {
	c := Condition{Type: protocol.ModePendingCondition, True: false, Reason: "ModeAsConfigured", Message: "mode " +
		string(f.Mode)}
	if f.Blocked != "" {
		c = Condition{Type: protocol.ModePendingCondition, True: true, Reason: "ModeNotAsConfigured", Message: f.Blocked}
	}
	if f.Edited != "" {
		c.Message += "; " + f.Edited
	}
	c.Message = wording.Short(c.Message, maxMessage)
	return c
}

// describe is such as "GPU 3 (0000:12:00.0, GPU-3fd4): unhealthy: vendor: it is broken".
func describe(c health.Condition) string {
	name := "GPU"
	if c.Index >= 0 {
		name += " " + strconv.Itoa(c.Index)
	}
	var also []string
	if (c.BDF != gpu.BDF{}) {
		also = append(also, c.BDF.String())
	}
	if c.UUID != "" {
		also = append(also, string(c.UUID))
	}
	if len(also) > 0 {
		name += " (" + strings.Join(also, ", ") + ")"
	}
	why := slices.DeleteFunc([]string{c.Code, c.Reason}, func(word string) bool { return word == "" })
	return strings.Join(append([]string{name, c.Health}, why...), ": ")
}
