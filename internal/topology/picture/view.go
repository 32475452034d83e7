// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"errors"
	"fmt"
	"io"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// View is what a picture shows: a node and, optionally, which of its GPUs are picked and
// which are in use.
type View struct {
	Node gpu.Node
	// Graph is the Node's; if it is nil, it is built.
	Graph *topology.Graph
	// Picked, RunnerUp and InUse are GPU indices in any order. RunnerUp is the second best
	// set.
	Picked, RunnerUp, InUse []int
	// Users names who uses each GPU, by GPU: "" for a free GPU, nil if the users are unknown.
	Users []string
	// LinksUnknown says that it is not known which GPUs MetaXLink joins.
	LinksUnknown bool
	// Note is shown below the picture, in lines whose columns stay aligned.
	Note []string
	// BridgeName names a PCIe bridge or switch; if it is nil, that is the address.
	BridgeName func(gpu.BDF) string
}

// numKinds is one more than the greatest kind.
const numKinds = topology.MX + 1

// errView reports a View that contradicts itself: a mark on a GPU that the node does not have,
// or the Graph of another node.
var errView = errors.New("invalid view")

// noDomain says what is known of MetaXLink on a node without domains.
func (s *checkedView) noDomain() string {
	if s.linksUnknown {
		return "MetaXLink: unknown"
	}
	return "no MetaXLink"
}

// checkedView is a View that was checked, with what all pictures need.
type checkedView struct {
	gpus          []gpu.GPU
	nics          []gpu.NIC
	graph         *topology.Graph
	picked, inUse []bool // by GPU
	second        []bool // by GPU: in the runner-up
	note          []string
	linksUnknown  bool
	domains       []domain // MetaXLink domains
	domainOf      []int    // by GPU: the number of its domain, from 1, or 0
	users         []string // by GPU, or nil
	bridgeName    func(gpu.BDF) string
	lost          topology.LostLinks
	down          [][2]int       // pairs whose MetaXLink is down, a < b
	missing       [][2]int       // other pairs that almost full domains lack, a < b
	marks         []mark         // those that some GPU has
	properties    []property     // those that are known of at least one GPU
	unknown       []string       // names of those that are unknown for all GPUs
	named         [numKinds]bool // kinds that a picture names and the legend explains
	badged        bool           // the picture says what links its two rows
}

// domain is a MetaXLink domain.
type domain struct {
	gpus             []int    // ascending
	links            int      // pairs joined by a link that is up
	apart            [][2]int // the other pairs
	minGBps, maxGBps float64
}

// checkView checks the View. The error is an errView.
func (v View) checkView() (*checkedView, error) {
	n := len(v.Node.GPUs)
	s := &checkedView{
		gpus: v.Node.GPUs, nics: v.Node.NICs, graph: v.Graph, domainOf: make([]int, n), note: v.Note,
		users: v.Users, bridgeName: v.BridgeName, linksUnknown: v.LinksUnknown,
	}
	if s.graph == nil {
		s.graph, _ = topology.New(v.Node)
	}
	if s.bridgeName == nil {
		s.bridgeName = gpu.BDF.String
	}
	if s.graph.Len() != n {
		return nil, fmt.Errorf("%w: graph of %d GPUs, node of %d", errView, s.graph.Len(), n)
	}
	var err error
	if s.picked, err = marked("picked", v.Picked, n); err != nil {
		return nil, err
	}
	if s.second, err = marked("runner-up", v.RunnerUp, n); err != nil {
		return nil, err
	}
	if s.inUse, err = marked("in use", v.InUse, n); err != nil {
		return nil, err
	}
	s.setMarks()
	s.setProperties()
	for i, gpus := range s.graph.Domains() {
		s.domains = append(s.domains, s.domain(gpus))
		for _, g := range gpus {
			s.domainOf[g] = i + 1
		}
	}
	s.lost = s.graph.Lost(v.Node.Links)
	s.down, s.missing = s.lost.Pairs(topology.LinkDown), s.lost.Pairs(topology.LinkMissing)
	return s, nil
}

// holderName names who uses a GPU; empty if that is not known.
func (s *checkedView) holderName(i int) string {
	if i >= len(s.users) {
		return ""
	}
	return terminal.Line(s.users[i])
}

// marked returns by GPU whether it is among the indices.
func marked(what string, indices []int, n int) ([]bool, error) {
	on := make([]bool, n)
	for _, i := range indices {
		if i < 0 || i >= n {
			return nil, fmt.Errorf("%w: GPU %d is %s, but the node has %d GPUs", errView, i, what, n)
		}
		on[i] = true
	}
	return on, nil
}

// domain describes the links of a domain.
func (s *checkedView) domain(gpus []int) domain {
	d := domain{gpus: gpus, apart: s.graph.Apart(gpus)}
	for i, a := range gpus {
		for _, b := range gpus[i+1:] {
			if s.graph.Kind(a, b) != topology.MX {
				continue
			}
			gbps := s.graph.Bandwidth(a, b)
			if d.links == 0 {
				d.minGBps, d.maxGBps = gbps, gbps
			}
			d.minGBps, d.maxGBps = min(d.minGBps, gbps), max(d.maxGBps, gbps)
			d.links++
		}
	}
	return d
}

// writePicture writes a finished picture.
func writePicture(w io.Writer, what string, picture []byte) error {
	if _, err := w.Write(picture); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
