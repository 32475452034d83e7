package topology

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// View is what a picture shows: a node and, optionally, which of its GPUs are
// picked and which are in use. The zero marks mean none.
type View struct {
	Node gpu.Node
	// Graph is the Node's; nil builds it.
	Graph *Graph
	// Picked, RunnerUp and InUse are GPU indices in any order. RunnerUp are those
	// that would have been picked next.
	Picked, RunnerUp, InUse []int
	// Note is what is to be said below the picture, in lines of which the columns
	// matter.
	Note []string
}

// ErrView reports a View that contradicts itself: a mark on a GPU that the node
// does not have, or the Graph of another node.
var ErrView = errors.New("invalid view")

// scene is a checked View, with what all pictures need worked out.
type scene struct {
	gpus         []gpu.GPU
	graph        *Graph
	picked, inUse []bool // by GPU
	second       []bool // by GPU: would have been picked next
	note         []string
	domains      []domain       // MetaXLink domains
	domainOf     []int          // by GPU: the number of its domain, from 1, or 0
	down         [][2]int       // pairs that a MetaXLink would join if it were up, a < b
	marks        []mark         // those that occur
	known        []fact         // what is known of at least one GPU
	unknown      []string       // what is known of none
	named        [numKinds]bool // kinds that a picture names without saying what they mean
}

// domain is a set of GPUs joined by MetaXLink, if not each to each.
type domain struct {
	gpus             []int    // ascending
	links            int      // pairs joined by a link that is up
	apart            [][2]int // the other pairs
	minGBps, maxGBps float64
}

func (v View) scene() (*scene, error) {
	n := len(v.Node.GPUs)
	s := &scene{gpus: v.Node.GPUs, graph: v.Graph, domainOf: make([]int, n), note: v.Note}
	if s.graph == nil {
		s.graph, _ = New(v.Node)
	}
	if s.graph.Len() != n {
		return nil, fmt.Errorf("%w: graph of %d GPUs, node of %d", ErrView, s.graph.Len(), n)
	}
	var err error
	if s.picked, err = set("picked", v.Picked, n); err != nil {
		return nil, err
	}
	if s.second, err = set("runner-up", v.RunnerUp, n); err != nil {
		return nil, err
	}
	if s.inUse, err = set("in use", v.InUse, n); err != nil {
		return nil, err
	}
	s.setMarks()
	s.setFacts()
	for i, gpus := range s.graph.Domains() {
		s.domains = append(s.domains, s.domain(gpus))
		for _, g := range gpus {
			s.domainOf[g] = i + 1
		}
	}
	s.down = s.downLinks(v.Node.Links)
	return s, nil
}

func set(what string, indices []int, n int) ([]bool, error) {
	on := make([]bool, n)
	for _, i := range indices {
		if i < 0 || i >= n {
			return nil, fmt.Errorf("%w: GPU %d is %s, but the node has %d GPUs", ErrView, i, what, n)
		}
		on[i] = true
	}
	return on, nil
}

func (s *scene) domain(gpus []int) domain {
	d := domain{gpus: gpus}
	for i, a := range gpus {
		for _, b := range gpus[i+1:] {
			if s.graph.Kind(a, b) != MX {
				d.apart = append(d.apart, [2]int{a, b})
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

// downLinks lists the pairs with a MetaXLink that is down and none that is up.
func (s *scene) downLinks(links []gpu.Link) [][2]int {
	var down [][2]int
	for _, l := range links {
		a, b := min(l.A, l.B), max(l.A, l.B)
		if !l.Down || l.Kind != MX.String() || a < 0 || a == b || b >= len(s.gpus) || s.graph.Kind(a, b) == MX {
			continue
		}
		down = append(down, [2]int{a, b})
	}
	slices.SortFunc(down, func(x, y [2]int) int { return slices.Compare(x[:], y[:]) })
	return slices.Compact(down)
}

// write hands a finished picture to w.
func write(w io.Writer, what string, picture []byte) error {
	if _, err := w.Write(picture); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
