// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// NodeTopology is the value of NodeAnnotation: what a scheduler must know of the GPUs of a
// node to pick as the node itself does. It changes only with the hardware.
type NodeTopology struct {
	Version int `json:"version"` // TopologyVersion
	// GPUs are in the order of the node; the position is the number of the GPU here and in a
	// NodeState.
	GPUs []TopologyGPU `json:"gpus"`
	// Domains are lists of GPUs, such as "0-3,8", between all of which there is MetaXLink.
	Domains []string `json:"domains,omitempty"`
	// Exceptions are the pairs that are linked otherwise than Domains and the places of GPUs
	// say, by mx-smi's word for their link: "0:1-3,5 2:4" is GPU 0 with 1, 2, 3, 5 and GPU 2
	// with 4.
	Exceptions map[string]string `json:"exceptions,omitempty"`
}

// TopologyVersion is the version of NodeTopology. It changes if older readers would read a
// newer one wrongly.
const TopologyVersion = 1

// TopologyGPU is one GPU with its place.
type TopologyGPU struct {
	UUID  gpu.UUID `json:"uuid,omitempty"`
	Model string   `json:"model,omitempty"`
	NUMA  *int     `json:"numa,omitempty"` // nil if the host does not state it
	// Bridges are numbers of the host bridge above the GPU and of the PCIe bridges below that,
	// the topmost first; the host bridge is 0 if it is not known. The same bridge has the same
	// number on all GPUs.
	Bridges []int `json:"bridges,omitempty"`
	// Switch is the number of the nearest PCIe switch; 0 if there is none.
	Switch int `json:"switch,omitempty"`
}

// NewNodeTopology returns the topology of a node. It fails with an ErrAnnotation if the node
// is larger than an annotation may be.
func NewNodeTopology(n gpu.Node) (NodeTopology, error) {
	t := NodeTopology{Version: TopologyVersion, GPUs: []TopologyGPU{}}
	if len(n.GPUs) > maxTopologyGPUs {
		return t, Invalid(NodeAnnotation, "%d GPUs; at most %d", len(n.GPUs), maxTopologyGPUs)
	}
	number := numbering{}
	for _, g := range n.GPUs {
		t.GPUs = append(t.GPUs, number.place(g))
	}
	stated, _ := topology.New(n)
	for _, domain := range stated.Domains() {
		t.Domains = append(t.Domains, wording.Ranges(domain))
	}
	plain, err := t.Node()
	if err != nil {
		return t, err
	}
	implied, _ := topology.New(plain)
	t.Exceptions = linkExceptions(stated, implied)
	if size := len(t.String()); size > maxTopologyText {
		return t, Invalid(NodeAnnotation, "%d bytes; at most %d", size, maxTopologyText)
	}
	return t, nil
}

// String returns the annotation.
func (t NodeTopology) String() string {
	text, err := json.Marshal(t)
	if err != nil {
		return "" // does not happen: there are only numbers and strings
	}
	return string(text)
}

// Node returns a Node with the same links: its topology.Graph has the same kind and the same
// locality for each pair. It fails with an ErrAnnotation if Domains or Exceptions are not
// valid.
func (t NodeTopology) Node() (gpu.Node, error) {
	n := gpu.NewNode("")
	for i, g := range t.GPUs {
		n.GPUs = append(n.GPUs, g.gpu(i))
	}
	links, err := t.decodeLinks()
	n.Links = links
	return n, err
}

// numbering gives bridges their numbers, by their names.
type numbering map[string]int

func (n numbering) of(name string) int {
	if _, known := n[name]; !known {
		n[name] = len(n) + 1
	}
	return n[name]
}

func (n numbering) place(g gpu.GPU) TopologyGPU {
	t := TopologyGPU{UUID: g.UUID}
	if isModel(g.Model) {
		t.Model = g.Model
	}
	if g.NUMA >= 0 {
		t.NUMA = &g.NUMA
	}
	switch {
	case g.PCIeRoot != "":
		t.Bridges = []int{n.of(g.PCIeRoot)}
	case len(g.PCIePath) > 0:
		t.Bridges = []int{0}
	}
	for _, b := range g.PCIePath {
		t.Bridges = append(t.Bridges, n.of(b.String()))
	}
	if g.PCIeSwitch != nil {
		t.Switch = n.of(g.PCIeSwitch.String())
	}
	return t
}

// gpu returns the GPU with index i. Its bridges have their numbers for addresses.
func (t TopologyGPU) gpu(i int) gpu.GPU {
	g := gpu.GPU{
		Index: i, UUID: t.UUID, Model: t.Model, Product: gpu.ProductOf(t.Model), NUMA: gpu.NUMAUnknown,
		Healthy: true,
	}
	if t.NUMA != nil {
		g.NUMA = *t.NUMA
	}
	for level, b := range t.Bridges {
		switch {
		case level > 0:
			g.PCIePath = append(g.PCIePath, bridge(b))
		case b > 0:
			g.PCIeRoot = BridgeName(bridge(b))
		}
	}
	if t.Switch > 0 {
		b := bridge(t.Switch)
		g.PCIeSwitch = &b
	}
	return g
}

func bridge(number int) gpu.BDF { return gpu.BDF{Domain: uint32(number)} }

// BridgeName returns the number of a bridge of NodeTopology.Node, which has it for an address.
func BridgeName(b gpu.BDF) string { return strconv.Itoa(int(b.Domain)) }
