// SPDX-License-Identifier: Apache-2.0

package foreign

import (
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
	r := volcanoReader{questionReader{scanner{text}, resource, annotations}, 0}
	err = r.members(func(name []byte) error {
		switch string(name) {
		case "task":
			pod, _, err := r.readTask()
			if err == nil && pod != nil {
				a.Pod, err = r.parsePod(pod)
			}
			return prefixError("task", err)
		case "node":
			a.Nodes = nil
			return prefixError("node", r.readNode(&a.Nodes))
		case "nodes":
			a.Nodes = nil
			return prefixError("nodes", r.items('[', ']', func() error { return r.readNode(&a.Nodes) }))
		}
		return nil
	})
	if err = r.end(err, a.Pod); err != nil {
		return VolcanoArgs{}, err
	}
	return a, nil
}

// volcanoReader reads a question of Volcano.
type volcanoReader struct {
	questionReader
	pods int // of nodes, up to now
}

// readNode reads a NodeInfo of Volcano.
func (r *volcanoReader) readNode(to *[]VolcanoNode) error {
	if len(*to) == maxNodes {
		return fmt.Errorf("more than %d nodes", maxNodes)
	}
	var node VolcanoNode
	err := r.members(func(name []byte) (err error) {
		switch string(name) {
		case "Name":
			node.Name, err = r.readName()
		case "Tasks":
			err = r.members(func([]byte) error { return r.readPlaced(&node) })
		}
		return err
	})
	*to = append(*to, node)
	return err
}

// readPlaced reads a TaskInfo of a node.
func (r *volcanoReader) readPlaced(node *VolcanoNode) error {
	text, status, err := r.readTask()
	if err != nil || text == nil || (!placed[status] && !leaving[status]) {
		return err
	}
	if r.pods++; r.pods > maxNodes {
		return fmt.Errorf("more than %d pods are placed or evicted", maxNodes)
	}
	pod, err := r.parseSeenPod(text)
	if placed[status] {
		node.Placed = append(node.Placed, pod)
	} else {
		node.Leaving = append(node.Leaving, pod)
	}
	return err
}

// readTask reads a TaskInfo of Volcano: the text of its pod, which is nil for null, and its
// status.
func (r *volcanoReader) readTask() (pod []byte, status string, err error) {
	err = r.members(func(name []byte) (err error) {
		switch string(name) {
		case "Pod":
			if pod, err = r.value(); err == nil && pod[0] == 'n' {
				pod = nil
			}
		case "Status":
			var text []byte
			text, err = r.value()
			status = string(text)
		}
		return err
	})
	return pod, status, err
}
