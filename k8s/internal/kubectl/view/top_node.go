// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// NodeList are all Nodes with GPUs.
type NodeList struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Items      []Node   `json:"items"`
	Missing    []string `json:"missing,omitempty"`
}

// NewNodeList returns the Nodes in the order of names.
func NewNodeList(o objects.Objects) NodeList {
	nodes, _ := newNodes(o, new(nodescore.Shapes))
	return NodeList{APIVersion: apiVersion, Kind: "TopNodeList", Items: append([]Node{}, nodes...), Missing: o.Missing}
}

var nodeHead = []string{
	"NODE", "PRODUCT", "GPUS", "FREE", "IN USE", "UNHEALTHY", "OUTSIDE", "FREE BY DOMAIN",
	"REQUESTED", "STATUS",
}

func (n Node) row() []string {
	var domains, requested []string
	for _, free := range n.FreeByDomain {
		domains = append(domains, formatCount(free))
	}
	for _, r := range n.Resources {
		_, short, _ := strings.Cut(r.Name, "/")
		requested = append(requested, fmt.Sprintf("%d/%d %s", r.Requested, r.Allocatable, short))
	}
	return slices.Concat([]string{n.Name, n.Product}, n.Counts.tableCells(),
		[]string{strings.Join(domains, "+"), strings.Join(requested, ", "), strings.Join(n.Status, ", ")})
}

// Text is the list as a table.
func (l NodeList) Text() string {
	if len(l.Items) == 0 {
		return "no node with MetaX GPUs\n"
	}
	rows := [][]string{nodeHead}
	counted := 0
	for _, n := range l.Items {
		rows = append(rows, n.row())
		if n.Source == fromCounts {
			counted++
		}
	}
	text := terminal.Table(rows)
	if counted > 0 {
		text += fmt.Sprintf(
			"%s without valid annotations of metax-gpu-device: the numbers are those of resources and requests\n",
			wording.Count(counted, "node"))
	}
	return text + firstLines(l.Missing)
}

// NodeDetails are one Node with its GPUs and pods.
type NodeDetails struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Node       Node   `json:"node"`
	// GPUs are nil if they are not known one by one.
	GPUs    []GPU    `json:"gpus,omitempty"`
	Pods    []Pod    `json:"pods"`
	Events  []Event  `json:"events"`
	Missing []string `json:"missing,omitempty"`
}

// GPU is a GPU of a Node.
type GPU struct {
	Index int      `json:"index"`
	UUID  gpu.UUID `json:"uuid,omitempty"`
	Model string   `json:"model,omitempty"`
	NUMA  int      `json:"numa"` // -1 if the host does not state it
	// Domain is the number of the MetaXLink domain, from 1; 0 if it is in none.
	Domain int `json:"linkDomain,omitempty"`
	// State is "free", "in use", "unhealthy" or "in use outside Kubernetes".
	State string `json:"state"`
	// Measures are the clock and why it is throttled, named as those of metax-ctk top.
	Measures gpu.Measures `json:"measures,omitempty"`
}

// Event is what was told about an object.
type Event struct {
	Time    string `json:"time"` // of the last one, RFC 3339 in UTC
	Count   int    `json:"count"`
	Warning bool   `json:"warning,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// NewNodeDetails returns the first Node of the objects. The caller has read one.
func NewNodeDetails(o objects.Objects) NodeDetails {
	nodes, _ := newNodes(o, new(nodescore.Shapes))
	n := nodes[0]
	d := NodeDetails{
		APIVersion: apiVersion, Kind: "TopNode", Node: n, Pods: []Pod{},
		Events: eventsAbout(o, "Node", "", n.Name), Missing: o.Missing,
	}
	for _, p := range Pods(o) {
		if p.Node == n.Name {
			d.Pods = append(d.Pods, p)
		}
	}
	for i, g := range n.hardware.GPUs {
		row := GPU{Index: i, UUID: g.UUID, Model: g.Model, NUMA: g.NUMA, Domain: g.LinkDomain, State: n.gpuState(i)}
		if c := o.Clocks[i]; c.UUID == g.UUID {
			row.Measures = c.Measures
		}
		d.GPUs = append(d.GPUs, row)
	}
	return d
}

// eventsAbout returns the Events about an object, the last ones at the end.
func eventsAbout(o objects.Objects, kind, namespace, name string) []Event {
	list := []Event{}
	for _, e := range o.Events {
		if e.InvolvedObject.Kind != kind || e.InvolvedObject.Name != name || e.InvolvedObject.Namespace != namespace {
			continue
		}
		list = append(list, Event{
			Time: objects.LastTime(e).UTC().Format("2006-01-02T15:04:05Z"), Count: max(1, int(e.Count)),
			Warning: e.Type == corev1.EventTypeWarning,
			Reason:  e.Reason, Message: terminal.Message(e.Message),
		})
	}
	return list
}

// Text is the Node as tables and lines.
func (d NodeDetails) Text() string {
	var b strings.Builder
	b.WriteString(terminal.Table([][]string{nodeHead, d.Node.row()}))
	if d.GPUs != nil {
		rows := [][]string{{"GPU", "MODEL", "UUID", "NUMA", "DOMAIN", "CLOCK", "STATE"}}
		for _, g := range d.GPUs {
			domain, numa := "", ""
			if g.Domain > 0 {
				domain = formatCount(g.Domain)
			}
			if g.NUMA >= 0 {
				numa = formatCount(g.NUMA)
			}
			rows = append(rows, []string{
				formatCount(g.Index), g.Model, string(g.UUID), numa, domain, g.Measures.ClockText(), g.State,
			})
		}
		b.WriteString("\n" + terminal.Table(rows))
	} else {
		b.WriteString("the GPUs are not known one by one: the node has no valid annotations of metax-gpu-device\n")
	}
	if len(d.Pods) > 0 {
		b.WriteString("\n" + terminal.Table(append([][]string{podHead}, podRows(d.Pods)...)))
	}
	if len(d.Events) > 0 {
		rows := [][]string{{"LAST", "COUNT", "EVENT", "MESSAGE"}}
		for _, e := range d.Events[max(0, len(d.Events)-mostLines):] {
			rows = append(rows, []string{e.Time, formatCount(e.Count), e.Reason, e.Message})
		}
		b.WriteString("\n" + terminal.Table(rows))
	}
	if text := firstLines(d.Node.Problems) + firstLines(d.Missing); text != "" {
		b.WriteString("\n" + text)
	}
	return b.String()
}
