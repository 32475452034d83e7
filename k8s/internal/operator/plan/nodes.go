// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// Nodes is what labels and annotations of the nodes say. All lists are sorted.
type Nodes struct {
	All []string // the names of all nodes
	// Pending are those on which a change of the mode waits, as "NODE: WHY".
	Pending  []string
	GPU      int32    // nodes with a GPU
	NoDriver []string // those of them without a driver
	// NotReady are those that are not validated as ready, as "NODE (REASON)".
	NotReady []string
	// Ready are those that are: the version of the driver by node.
	Ready map[string]string
	// Families are the numbers of those with a GPU by the family of their GPUs, where they
	// have one.
	Families map[string]int32
	// Reports are what the agents of those with a GPU say, by component and node.
	Reports map[string]map[string]report.Report
	// Labels are those of nodes with a GPU, by node.
	Labels map[string]map[string]string
}

// Count returns what the metadata of all nodes say, and their condition of the mode.
func Count(nodes []corev1.Node) Nodes {
	n := Nodes{
		Ready: map[string]string{}, Families: map[string]int32{}, Reports: map[string]map[string]report.Report{},
		Labels: map[string]map[string]string{},
	}
	for _, node := range nodes {
		n.All = append(n.All, node.Name)
		l := node.Labels
		if l[protocol.LabelInstalled] != "true" {
			continue
		}
		n.GPU++
		if family := l[protocol.LabelFamily]; family != "" {
			n.Families[family]++
		}
		n.Labels[node.Name] = l
		for _, c := range node.Status.Conditions {
			if c.Type == protocol.ModePendingCondition && c.Status == corev1.ConditionTrue {
				n.Pending = append(n.Pending, node.Name+": "+c.Message)
			}
		}
		if l[protocol.LabelDriverReady] != "true" {
			n.NoDriver = append(n.NoDriver, node.Name)
		}
		if l[protocol.LabelValidated] != "true" {
			n.NotReady = append(n.NotReady,
				fmt.Sprintf("%s (%s)", node.Name, cmp.Or(l[protocol.LabelReason], "not looked at yet")))
		} else {
			n.Ready[node.Name] = strings.Join(
				[]string{l[protocol.LabelDriverMajor], l[protocol.LabelDriverMinor], l[protocol.LabelDriverPatch]}, ".")
		}
		for component, r := range report.Parse(node.Annotations[protocol.ReportsAnnotation]) {
			if n.Reports[component] == nil {
				n.Reports[component] = map[string]report.Report{}
			}
			n.Reports[component][node.Name] = r
		}
	}
	slices.Sort(n.All)
	slices.Sort(n.Pending)
	slices.Sort(n.NoDriver)
	slices.Sort(n.NotReady)
	return n
}

// notReady are the nodes that reported that a component is not ready, as "NODE: MESSAGE
// (REASON)", sorted.
func (n Nodes) notReady(component string) (list []string) {
	for name, r := range n.Reports[component] {
		if !r.Ready {
			list = append(list, fmt.Sprintf("%s: %s (%s)", name, r.Message, r.Reason))
		}
	}
	slices.Sort(list)
	return list
}
