// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

const apiVersion = gpu.APIVersion

// Cluster is all Nodes with GPUs together.
type Cluster struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Products are the Nodes by product, in the order of names.
	Products []Product `json:"products"`
	Total    Product   `json:"total"`
	// Room says for jobs of 1, 2, 4 and 8 GPUs how many fit now. Only Nodes whose GPUs are
	// known one by one, and that take pods, count.
	Room []Room `json:"room"`
	// Pods is how many pods on Nodes request GPUs or slices; Pending are the others.
	Pods     int       `json:"pods"`
	Pending  []Pod     `json:"pending"`
	Problems []Problem `json:"problems"`
	// Missing says in lines what could not be read.
	Missing []string `json:"missing,omitempty"`
}

// Product is the sum of Nodes with the same GPUs.
type Product struct {
	Name  string `json:"name,omitempty"`
	Nodes int    `json:"nodes"`
	Counts
}

// Room is how many jobs of a number of GPUs fit at the same time, each inside one MetaXLink
// domain.
type Room struct {
	GPUs int `json:"gpus"`
	Jobs int `json:"jobs"`
}

// Problem is what is wrong with a Node, or with the cluster.
type Problem struct {
	Node    string `json:"node,omitempty"`
	Message string `json:"message"`
}

// NewCluster returns the view of a whole cluster.
func NewCluster(o objects.Objects) Cluster {
	nodes, pending := newNodes(o, new(nodescore.Shapes))
	c := Cluster{
		APIVersion: apiVersion, Kind: "TopCluster", Products: []Product{}, Pending: append([]Pod{}, pending...),
		Problems: []Problem{}, Missing: o.Missing,
	}
	products := map[string]*Product{}
	room := map[int]int{}
	for _, n := range nodes {
		if products[n.Product] == nil {
			products[n.Product] = &Product{Name: n.Product}
		}
		for _, p := range []*Product{products[n.Product], &c.Total} {
			p.Nodes++
			p.Counts.add(n.Counts)
		}
		c.Pods += n.Pods
		n.addRoom(room)
		for _, message := range n.Problems {
			c.Problems = append(c.Problems, Problem{n.Name, message})
		}
	}
	for _, u := range o.Unread {
		c.Problems = append(c.Problems, Problem{Message: fmt.Sprintf(
			"ConfigMap %s/%s has no effect: %s follows that of namespace %s (kubectl edit configmap -n %[4]s %[2]s)", u.Namespace, u.Name, u.Program, u.Reads)})
	}
	for _, name := range slices.Sorted(maps.Keys(products)) {
		c.Products = append(c.Products, *products[name])
	}
	for _, size := range jobSizes {
		c.Room = append(c.Room, Room{size, room[size]})
	}
	return c
}

// jobSizes are those that the vendor's manual recommends.
var jobSizes = []int{1, 2, 4, 8}

// addRoom adds how many jobs of each size fit on the Node. One GPU needs no domain.
func (n *Node) addRoom(room map[int]int) {
	if n.Source != fromAnnotations || !slices.Equal(n.Status, []string{"ready"}) {
		return
	}
	for _, size := range jobSizes {
		if size == 1 {
			room[size] += n.Free
			continue
		}
		for _, free := range n.FreeByDomain {
			room[size] += free / size
		}
	}
}

// Text is the view as a table and lines.
func (c Cluster) Text() string {
	if c.Total.Nodes == 0 {
		return "no node with MetaX GPUs\n" + firstLines(c.Missing)
	}
	rows := [][]string{{"PRODUCT", "NODES", "GPUS", "FREE", "IN USE", "UNHEALTHY", "OUTSIDE"}}
	all := c.Products
	if len(all) > 1 {
		total := c.Total
		total.Name = "all"
		all = slices.Concat(all, []Product{total})
	}
	for _, p := range all {
		rows = append(rows, append([]string{cmp.Or(p.Name, "unknown"), formatCount(p.Nodes)}, p.Counts.tableCells()...))
	}
	var b strings.Builder
	b.WriteString(terminal.Table(rows))
	var room []string
	for _, r := range c.Room {
		room = append(room, fmt.Sprintf("%d × %d", r.Jobs, r.GPUs))
	}
	fmt.Fprintf(&b, "room for jobs × GPUs, each job inside one MetaXLink domain: %s\n", strings.Join(room, ", or "))
	fmt.Fprintf(&b, "%s with GPUs, %d pending", wording.Count(c.Pods, "pod"), len(c.Pending))
	if len(c.Pending) > 0 {
		var pending []string
		for _, p := range c.Pending {
			pending = append(pending, terminal.Line(p.Namespace+"/"+p.Name))
		}
		b.WriteString(": " + wording.Some(pending, mostLines))
	}
	b.WriteByte('\n')
	var problems []string
	for _, p := range c.Problems {
		if p.Node != "" {
			p.Message = p.Node + ": " + p.Message
		}
		problems = append(problems, p.Message)
	}
	b.WriteString(firstLines(problems) + firstLines(c.Missing))
	return b.String()
}

// mostLines bounds what is listed below a table.
const mostLines = 10

// firstLines are the first of a list, each in a line, and how many more there are.
func firstLines(list []string) string {
	var b strings.Builder
	for i, line := range list {
		if i == mostLines {
			fmt.Fprintf(&b, "and %d more (-o json has all)\n", len(list)-i)
			break
		}
		b.WriteString(terminal.Message(line) + "\n")
	}
	return b.String()
}

func (c Counts) tableCells() []string {
	return []string{
		formatCount(c.GPUs), formatCount(c.Free), formatCount(c.InUse), formatCount(c.Unhealthy),
		formatCount(c.Outside),
	}
}

// formatCount is a count in a table.
func formatCount(n int) string { return strconv.Itoa(n) }
