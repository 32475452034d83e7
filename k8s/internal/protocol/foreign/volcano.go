// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"bytes"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// VolcanoArgs is what Volcano's plugin extender asks about a pod: PredicateRequest, which has
// one node, and PrioritizeRequest of volcano.sh/volcano/pkg/scheduler/plugins/extender.
type VolcanoArgs struct {
	Pod   *corev1.Pod
	Nodes []VolcanoNode
	Seen  VolcanoSeen // for the next question
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

// VolcanoSeen has nodes of a question with their texts, by name. Most are in the next question
// with the same text, and need not be read again.
type VolcanoSeen map[string]seenNode

type seenNode struct {
	VolcanoNode
	containers int // of its pods
	text       []byte
}

// maxSeen is how many bytes the remembered texts of a question may have together.
const maxSeen = 16 << 20

// firstName returns the name with which Volcano begins the text of a node, or nil.
func firstName(text []byte) []byte {
	rest, ok := bytes.CutPrefix(text, []byte(`{"Name":"`))
	if end := bytes.IndexByte(rest, '"'); ok && end >= 0 {
		return rest[:end]
	}
	return nil
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
// does not count is not checked. seen are nodes of an earlier question, read with the same
// resource and annotations. The error is an ErrExtender.
func ParseVolcanoArgs(text []byte, seen VolcanoSeen, resource corev1.ResourceName,
	annotations ...string,
) (a VolcanoArgs, err error) {
	a.Seen = VolcanoSeen{}
	r := volcanoReader{
		questionReader: questionReader{scanner: scanner{text}, resource: resource, annotations: annotations},
		known:          seen, seen: a.Seen,
	}
	err = r.members(func(name []byte) error {
		switch string(name) {
		case "task":
			a.Pod = nil
			pod, _, err := r.readTask()
			if err == nil && pod != nil {
				a.Pod, err = r.parseAskedPod(pod)
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
	if err = r.checkEnd(err, a.Pod); err != nil {
		return VolcanoArgs{}, err
	}
	return a, nil
}

// volcanoReader reads a question of Volcano.
type volcanoReader struct {
	questionReader
	known, seen VolcanoSeen // of the earlier question, and of this one
	size        int         // of the texts in seen
	pods        int         // of nodes, up to now
}

// readNode reads a NodeInfo of Volcano.
func (r *volcanoReader) readNode(to *[]VolcanoNode) error {
	if len(*to) == maxNodes {
		return fmt.Errorf("more than %d nodes", maxNodes)
	}
	r.next()
	text := r.rest
	name := firstName(text)
	node, ok := r.known[string(name)]
	if ok && bytes.HasPrefix(text, node.text) {
		r.rest = text[len(node.text):]
		pods := len(node.Placed) + len(node.Leaving)
		if err := errors.Join(r.countPods(pods), r.countContainers(node.containers)); err != nil {
			return err
		}
	} else {
		before := r.containers
		read, err := r.parseNode()
		if err != nil {
			return err
		}
		node = seenNode{read, r.containers - before, nil}
		if size := len(text) - len(r.rest); name != nil && r.size+size <= maxSeen {
			node.text = bytes.Clone(text[:size])
		}
	}
	if node.text != nil {
		r.seen[node.Name] = node
		r.size += len(node.text)
	}
	*to = append(*to, node.VolcanoNode)
	return nil
}

func (r *volcanoReader) parseNode() (node VolcanoNode, err error) {
	err = r.members(func(name []byte) (err error) {
		switch string(name) {
		case "Name":
			node.Name, err = r.readName()
		case "Tasks":
			err = r.members(func([]byte) error { return r.readPlaced(&node) })
		}
		return err
	})
	return node, err
}

// readPlaced reads a TaskInfo of a node.
func (r *volcanoReader) readPlaced(node *VolcanoNode) error {
	text, status, err := r.readTask()
	if err != nil || text == nil || (!placed[string(status)] && !leaving[string(status)]) {
		return err
	}
	if err := r.countPods(1); err != nil {
		return err
	}
	pod, err := r.parsePod(text)
	if placed[string(status)] {
		node.Placed = append(node.Placed, pod)
	} else {
		node.Leaving = append(node.Leaving, pod)
	}
	return err
}

// countPods bounds the pods of all nodes together.
func (r *volcanoReader) countPods(more int) error {
	if r.pods += more; r.pods > maxNodes {
		return fmt.Errorf("more than %d pods are placed or evicted", maxNodes)
	}
	return nil
}

// readTask reads a TaskInfo of Volcano: the text of its pod, which is nil for null, and its
// status.
func (r *volcanoReader) readTask() (pod, status []byte, err error) {
	err = r.members(func(name []byte) (err error) {
		switch string(name) {
		case "Pod":
			if pod, err = r.value(); err == nil && pod[0] == 'n' {
				pod = nil
			}
		case "Status":
			status, err = r.value()
		}
		return err
	})
	return pod, status, err
}
