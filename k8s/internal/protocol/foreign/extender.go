package foreign

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ErrExtender reports a question of kube-scheduler that is not of its form.
var ErrExtender = errors.New("invalid question of a scheduler")

// ExtenderArgs is what kube-scheduler asks an extender: ExtenderArgs of k8s.io/kube-scheduler/extender/v1.
// The scheduler names the nodes in NodeNames if the extender has nodeCacheCapable, and else sends
// them as Nodes.
type ExtenderArgs struct {
	Pod       *corev1.Pod
	Nodes     *ExtenderNodes
	NodeNames *[]string
}

// ExtenderNodes is a list of nodes.
type ExtenderNodes struct {
	Items []ExtenderNode `json:"items"`
}

// ExtenderNode is a node as the scheduler sent it, so that it comes back unchanged.
type ExtenderNode struct {
	Name   string
	object json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *ExtenderNode) UnmarshalJSON(text []byte) error {
	var object struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return errors.New("an item of Nodes is not a node")
	}
	n.Name, n.object = object.Metadata.Name, append(json.RawMessage(nil), text...)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (n ExtenderNode) MarshalJSON() ([]byte, error) { return n.object, nil }

// ExtenderFilterResult is the answer which nodes fit, in the form in which the nodes came, and why the
// others do not.
type ExtenderFilterResult struct {
	Nodes                      *ExtenderNodes    `json:",omitempty"`
	NodeNames                  *[]string         `json:",omitempty"`
	FailedNodes                map[string]string `json:",omitempty"`
	FailedAndUnresolvableNodes map[string]string `json:",omitempty"`
}

// HostPriority is a node with its score from 0 to 10.
type HostPriority struct {
	Host  string
	Score int64
}

// ParseExtenderArgs reads a question of kube-scheduler. The error is an ErrExtender.
func ParseExtenderArgs(text []byte) (a ExtenderArgs, err error) {
	if err := json.Unmarshal(text, &a); err != nil {
		return ExtenderArgs{}, fmt.Errorf("%w: %.200q", ErrExtender, err.Error())
	}
	if a.Pod == nil {
		return ExtenderArgs{}, fmt.Errorf("%w: it has no pod", ErrExtender)
	}
	return a, nil
}

// Names returns the names of the nodes in the order in which they came.
func (a ExtenderArgs) Names() (names []string) {
	switch {
	case a.NodeNames != nil:
		return *a.NodeNames
	case a.Nodes != nil:
		for _, n := range a.Nodes.Items {
			names = append(names, n.Name)
		}
	}
	return names
}

// Keep returns the answer with the nodes that keep reports, by their position in Names.
func (a ExtenderArgs) Keep(keep func(int) bool) (r ExtenderFilterResult) {
	switch {
	case a.NodeNames != nil:
		kept := []string{}
		for i, name := range *a.NodeNames {
			if keep(i) {
				kept = append(kept, name)
			}
		}
		r.NodeNames = &kept
	case a.Nodes != nil:
		kept := []ExtenderNode{}
		for i, n := range a.Nodes.Items {
			if keep(i) {
				kept = append(kept, n)
			}
		}
		r.Nodes = &ExtenderNodes{kept}
	}
	return r
}
