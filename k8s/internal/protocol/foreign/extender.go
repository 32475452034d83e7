// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"bytes"
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
	maxNodes      = 5000
	maxName       = 253
	maxPod        = 3 << 19 // bytes
	maxContainers = 1000
	maxQuantity   = 32

	// MaxQuestion is the size in bytes of the largest question that names its nodes.
	MaxQuestion = maxPod + maxNodes*(maxName+3) + 1<<12
)

// ParseExtenderArgs reads a question of kube-scheduler: the names of the nodes, and of the pod
// what decides which GPUs it requests, where its names, its UID and its scheduler, what the
// containers request of one resource and the annotations with these names. Nothing else is
// decoded. The error is an ErrExtender.
func ParseExtenderArgs(text []byte, resource corev1.ResourceName, annotations ...string) (a ExtenderArgs, err error) {
	if !json.Valid(text) {
		return ExtenderArgs{}, fmt.Errorf("%w: %w", ErrExtender, errNotJSON)
	}
	err = eachMember(text, func(name string, value []byte) error {
		switch {
		case value[0] == 'n': // null
		case name == "Pod":
			a.Pod = &corev1.Pod{}
			return prefixError("Pod", podReader{a.Pod, resource, annotations}.readPod(value))
		case name == "NodeNames":
			a.NodeNames = new(make([]string, 0, min(bytes.Count(value, []byte(",")), maxNodes)))
			return prefixError("NodeNames", readNames(value, a.NodeNames))
		case name == "Nodes":
			a.Nodes = &ExtenderNodes{Items: []ExtenderNode{}}
			return prefixError("Nodes", a.Nodes.read(value))
		}
		return nil
	})
	if err == nil && a.Pod == nil {
		err = errNoPod
	}
	if err != nil {
		return ExtenderArgs{}, fmt.Errorf("%w: %w", ErrExtender, err)
	}
	return a, nil
}

// prefixError says where an error is; nil stays nil.
func prefixError(where string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

func readNames(text []byte, names *[]string) error {
	return eachElement(text, func(value []byte) error {
		name, err := readName(value)
		if err == nil && len(*names) == maxNodes {
			err = fmt.Errorf("more than %d nodes", maxNodes)
		}
		*names = append(*names, name)
		return err
	})
}

func readName(text []byte) (string, error) {
	if len(text) > maxName+len(`""`) {
		return "", fmt.Errorf("a name is longer than %d bytes", maxName)
	}
	return decodeString(text)
}

func (n *ExtenderNodes) read(text []byte) error {
	return eachMember(text, func(name string, value []byte) error {
		if name != "items" {
			return nil
		}
		n.Items = []ExtenderNode{}
		return eachElement(value, func(value []byte) error {
			if len(n.Items) == maxNodes {
				return fmt.Errorf("more than %d nodes", maxNodes)
			}
			node := ExtenderNode{object: value}
			err := eachMember(value, func(name string, value []byte) error {
				if name != "metadata" {
					return nil
				}
				return eachMember(value, func(name string, value []byte) (err error) {
					if name == "name" {
						node.Name, err = readName(value)
					}
					return err
				})
			})
			n.Items = append(n.Items, node)
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
