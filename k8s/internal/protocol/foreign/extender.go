// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ErrExtender reports a question of a scheduler that is not of its form.
var ErrExtender = errors.New("invalid question of a scheduler")

var errNoPod = errors.New("it has no pod")

// ExtenderArgs is what kube-scheduler asks an extender: ExtenderArgs of
// k8s.io/kube-scheduler/extender/v1. The scheduler names the nodes in NodeNames if the
// extender has nodeCacheCapable, and else sends them as Nodes.
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
	object json.RawMessage // a part of the question
}

// MarshalJSON implements json.Marshaler.
func (n ExtenderNode) MarshalJSON() ([]byte, error) { return n.object, nil }

// ExtenderFilterResult is the answer which nodes fit, in the form in which the nodes came, and
// why the others do not.
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

// The limits of a question. The greatest clusters have 5,000 nodes, and the API server stores
// objects of 1.5 MiB.
const (
	maxNodes       = 5000
	maxName        = 253
	maxPod         = 3 << 19      // bytes
	maxContainers  = 1000         // of a pod
	mostContainers = 4 * maxNodes // of all pods of a question
	maxQuantity    = 32

	// MaxQuestion is the size in bytes of the largest question that names its nodes.
	MaxQuestion = maxPod + maxNodes*(maxName+3) + 1<<12
)

// ParseExtenderArgs reads a question of kube-scheduler: the names of the nodes, and of the pod
// what decides which GPUs it requests, where its names, its UID and its scheduler, what the
// containers request of one resource and the annotations with these names. Nothing else is
// decoded. Only the pod and the nodes that are sent back have to be JSON in all their parts.
// The error is an ErrExtender.
func ParseExtenderArgs(text []byte, resource corev1.ResourceName, annotations ...string) (a ExtenderArgs, err error) {
	r := questionReader{scanner: scanner{text}, resource: resource, annotations: annotations}
	err = r.members(func(name []byte) (err error) {
		if r.next() == 'n' { // null
			return nil
		}
		switch string(name) {
		case "Pod":
			var text []byte
			if text, err = r.value(); err == nil {
				a.Pod, err = r.parseAskedPod(text)
			}
		case "NodeNames":
			a.NodeNames = &[]string{}
			err = prefixError("NodeNames", r.readNames(a.NodeNames))
		case "Nodes":
			a.Nodes = &ExtenderNodes{Items: []ExtenderNode{}}
			err = prefixError("Nodes", r.readNodes(a.Nodes))
		}
		return err
	})
	if err = r.checkEnd(err, a.Pod); err != nil {
		return ExtenderArgs{}, err
	}
	return a, nil
}

// checkEnd checks what follows the question and that it has a pod, and says that the error is
// about a question.
func (r *questionReader) checkEnd(err error, pod *corev1.Pod) error {
	r.next()
	switch {
	case err == nil && len(r.rest) > 0:
		err = errNotJSON
	case err == nil && pod == nil:
		err = errNoPod
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrExtender, err)
	}
	return nil
}

// prefixError says where an error is; nil stays nil.
func prefixError(where string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

func (r *questionReader) readNames(names *[]string) error {
	return r.items('[', ']', func() error {
		name, err := r.readName()
		if err == nil && len(*names) == maxNodes {
			err = fmt.Errorf("more than %d nodes", maxNodes)
		}
		*names = append(*names, name)
		return err
	})
}

func (r *questionReader) readNodes(to *ExtenderNodes) error {
	return r.members(func(name []byte) error {
		if string(name) != "items" {
			return nil
		}
		to.Items = []ExtenderNode{}
		return r.items('[', ']', func() error {
			if len(to.Items) == maxNodes {
				return fmt.Errorf("more than %d nodes", maxNodes)
			}
			var node ExtenderNode
			r.next()
			before := r.rest
			err := r.members(func(name []byte) error {
				if string(name) != "metadata" {
					return nil
				}
				return r.members(func(name []byte) (err error) {
					if string(name) == "name" {
						node.Name, err = r.readName()
					}
					return err
				})
			})
			node.object = before[:len(before)-len(r.rest)]
			if err == nil && !json.Valid(node.object) {
				err = errNotJSON
			}
			to.Items = append(to.Items, node)
			return err
		})
	})
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
		kept := make([]string, 0, len(*a.NodeNames))
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
