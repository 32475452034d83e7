// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// VolcanoArgs is what Volcano's plugin extender asks about a pod: PredicateRequest, which has
// one node, and PrioritizeRequest of volcano.sh/volcano/pkg/scheduler/plugins/extender.
type VolcanoArgs struct {
	Pod   *corev1.Pod
	Nodes []VolcanoNode
}

// VolcanoNode is a node as Volcano's session has it.
type VolcanoNode struct {
	Name string
	// Placed are the pods that the session has placed on the node, such as the others of a
	// gang. Before all of them have a place, it binds none.
	Placed []*corev1.Pod
	// Leaving are the pods of the node that are being evicted, also those of which the session
	// only tries whether that would make room.
	Leaving []*corev1.Pod
}

// VolcanoFit is the answer whether a node fits: PredicateResponse of Volcano. The zero value
// says that it does.
type VolcanoFit struct {
	Reason string `json:"status"`
	Code   int    `json:"code"`
}

// Why a node does not fit, for VolcanoFit: Unschedulable and UnschedulableAndUnresolvable of
// volcano.sh/volcano/pkg/scheduler/api.
const (
	VolcanoUnfit     = 2
	VolcanoNeverFits = 3
)

// VolcanoScores is the answer how good nodes are: PrioritizeResponse of Volcano. NodeScore
// must not be nil; Volcano places no pod then.
type VolcanoScores struct {
	NodeScore map[string]float64 `json:"nodeScore"`
}

// The numbers of TaskStatus of Volcano that say that its session has placed a pod on a node
// (Allocated, Binding and Bound), or that the pod is leaving it (Releasing).
var (
	placed  = map[string]bool{"2": true, "8": true, "16": true}
	leaving = map[string]bool{"64": true}
)

// ParseVolcanoArgs reads a question of Volcano, of its pods what ParseExtenderArgs reads. What
// does not count is not checked. The error is an ErrExtender.
func ParseVolcanoArgs(text []byte, resource corev1.ResourceName, annotations ...string) (a VolcanoArgs, err error) {
	r := volcanoReader{scanner{text}, podReader{nil, resource, annotations}, 0}
	err = r.members(func(name []byte) (err error) {
		switch string(name) {
		case `"task"`:
			a.Pod, _, err = r.readTask(func(string) bool { return true })
		case `"node"`:
			a.Nodes = nil
			err = r.readNode(&a.Nodes)
		case `"nodes"`:
			a.Nodes = nil
			err = r.items('[', ']', func() error { return r.readNode(&a.Nodes) })
		}
		return prefixError(string(name), err)
	})
	switch {
	case err == nil && r.next() != 0:
		err = errNotJSON
	case err == nil && a.Pod == nil:
		err = errNoPod
	}
	if err != nil {
		return VolcanoArgs{}, fmt.Errorf("%w: %w", ErrExtender, err)
	}
	return a, nil
}

// volcanoReader reads a question of Volcano.
type volcanoReader struct {
	scanner
	podReader
	pods int // of nodes, up to now
}

// readNode reads a NodeInfo of Volcano.
func (r *volcanoReader) readNode(to *[]VolcanoNode) error {
	if len(*to) == maxNodes {
		return fmt.Errorf("more than %d nodes", maxNodes)
	}
	var node VolcanoNode
	err := r.members(func(name []byte) error {
		switch string(name) {
		case `"Name"`:
			value, err := r.value()
			if err == nil {
				node.Name, err = readName(value)
			}
			return err
		case `"Tasks"`:
			return r.members(func([]byte) error {
				pod, status, err := r.readTask(func(status string) bool { return placed[status] || leaving[status] })
				switch {
				case pod == nil:
					return err
				case placed[status]:
					node.Placed = append(node.Placed, pod)
				default:
					node.Leaving = append(node.Leaving, pod)
				}
				if r.pods++; r.pods > maxNodes {
					return fmt.Errorf("more than %d pods are placed or evicted", maxNodes)
				}
				return err
			})
		}
		return nil
	})
	*to = append(*to, node)
	return err
}

// readTask reads the pod of a TaskInfo of Volcano, if its status is wanted; else it is nil.
func (r *volcanoReader) readTask(wanted func(status string) bool) (_ *corev1.Pod, status string, err error) {
	var text []byte
	err = r.members(func(name []byte) (err error) {
		var value []byte
		switch string(name) {
		case `"Pod"`:
			text, err = r.value()
		case `"Status"`:
			value, err = r.value()
			status = string(value)
		}
		return err
	})
	if err != nil || text == nil || text[0] == 'n' || !wanted(status) {
		return nil, "", err
	}
	if !json.Valid(text) {
		return nil, "", errNotJSON
	}
	r.pod = &corev1.Pod{}
	return r.pod, status, prefixError("Pod", r.readPod(text))
}
