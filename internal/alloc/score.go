package alloc

import (
	"cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// NodeScore is what a node has to offer for a number of GPUs: the best answer by
// a policy, and what it does to the node. Its JSON form only ever grows.
type NodeScore struct {
	Policy string `json:"policy"`
	GPUs   []int  `json:"gpus"`
	// Free is how many GPUs are free without the answer.
	Free       int           `json:"free"`
	Class      topology.Kind `json:"class"`
	Capability []key.Count   `json:"capability"` // of the GPUs
	Weight     int           `json:"weight"`
	// Before and After are the capability of the free GPUs, and of those that the
	// answer leaves; Loss is what it takes of it.
	Before   []key.Count `json:"before"`
	After    []key.Count `json:"after"`
	Loss     []key.Count `json:"loss"`
	Cut      int         `json:"cut"`
	Locality int         `json:"locality"`
	// Score belongs to the policy Weighted alone, as in a Candidate. Jobs is what MTF
	// goes by, whatever the policy.
	Score float64 `json:"score,omitempty"`
	Jobs  int     `json:"jobs"`
	// Worst is the worst class of link on the node, which every set of its GPUs
	// fits.
	Worst topology.Kind `json:"worst"`
	// Key lists the components in the order in which Compare goes by them.
	Key []key.Component `json:"key"`
	// Exact says that it is proven that the node has no better answer, and Method how
	// it was found.
	Exact  bool   `json:"exact"`
	Method string `json:"method"`
}

// Score is the key of the best answer for n of the free GPUs, before against
// after. Errors are those of Pick.
func (p *Picker) Score(free []int, n int, policy key.Policy) (NodeScore, error) {
	return p.scoreOf(Request{N: n, Free: free, Policy: policy})
}

// scoreOf is the score of the best answer to a request.
func (p *Picker) scoreOf(r Request) (NodeScore, error) {
	a, err := p.Pick(r)
	if err != nil {
		return NodeScore{}, err
	}
	q, err := r.check(p.gpus)
	if err != nil {
		return NodeScore{}, err
	}
	before, c := p.solver().Figures(q, q.Free), p.solver().Figures(q, a.GPUs)
	q.Policy = key.MTF
	s := NodeScore{
		Policy: r.Policy.String(), GPUs: a.GPUs, Free: len(r.Free), Class: c.Class, Capability: c.Capability, Weight: c.Weight,
		Before: before.Capability, After: c.Rest, Loss: []key.Count{}, Cut: c.Cut, Locality: c.Locality,
		Score: c.Score, Jobs: p.solver().Figures(q, a.GPUs).Jobs,
		Worst: p.worst(), Key: append([]key.Component{}, r.Policy.Key()...), Exact: a.Exact, Method: a.Method,
	}
	for _, c := range s.Before {
		c.Sets -= s.room(s.After, s.Free-len(s.GPUs), c.Class, c.Size)
		s.Loss = append(s.Loss, c)
	}
	return s, nil
}

// worst is the worst class among all pairs of the node; MX where there is none.
func (p *Picker) worst() topology.Kind {
	all := p.scale.Classes()
	if len(all) == 0 {
		return topology.MX
	}
	return all[len(all)-1]
}

// room is how many disjoint sets of that size so many GPUs hold at that class,
// by their capability: a class that the capability leaves out is one that every
// set fits, or one of which the node has no link.
func (s NodeScore) room(capability []key.Count, gpus int, class topology.Kind, size int) (sets int) {
	if class <= s.Worst {
		return gpus / size
	}
	for _, c := range capability {
		if c.Class >= class && c.Size == size {
			sets = c.Sets // the last such is of the worst class
		}
	}
	return sets
}

// Compare tells which node is better for a job, of two scores for the same number
// of GPUs by the same policy: 1 if s, -1 if o, 0 if neither. It goes by the key of
// the policy, with what the node loses in place of what it keeps, so that a node
// is not better for being larger.
//
// No policy turns that round. To First all nodes are equal.
func (s NodeScore) Compare(o NodeScore) int {
	for _, c := range s.Key {
		by := 0
		switch c {
		case key.ByCapability:
			by = s.compareRoom(o, func(n NodeScore, class topology.Kind, size int) int {
				return n.room(n.Capability, len(n.GPUs), class, size)
			})
		case key.ByRest:
			by = s.compareRoom(o, func(n NodeScore, class topology.Kind, size int) int {
				return n.room(n.After, n.Free-len(n.GPUs), class, size) - n.room(n.Before, n.Free, class, size)
			})
		default:
			by = c.Compare(s.candidate(), o.candidate())
		}
		if by != 0 {
			return by
		}
	}
	return 0
}

// compareRoom compares two nodes count by count, the most important first. All
// classes take part, also those that one of the nodes does not count, or neither:
// were it only those that a pair of nodes counts, three nodes could stand in a
// circle. A class that every set fits says how many jobs of a size there is room
// for at all.
func (s NodeScore) compareRoom(o NodeScore, sets func(n NodeScore, class topology.Kind, size int) int) int {
	for _, class := range topology.Classes() {
		for size := 1 << key.Log2(max(s.Free, o.Free)); size > 1; size /= 2 {
			if by := cmp.Compare(sets(s, class, size), sets(o, class, size)); by != 0 {
				return by
			}
		}
	}
	return 0
}

// candidate is what a Component compares of a score, but for the capabilities.
func (s NodeScore) candidate() key.Candidate {
	return key.Candidate{Class: s.Class, Weight: s.Weight, Cut: s.Cut, Locality: s.Locality, Score: s.Score, Jobs: s.Jobs}
}

// Heaviest is the greatest weight of a set of n of the free GPUs, and the cut of
// that set; of sets of the same weight, of the first by its indices. Errors are
// those of Pick.
func (p *Picker) Heaviest(free []int, n int) (weight, cut int, err error) {
	heaviest, err := key.Weighted(1, 0)
	if err != nil {
		return 0, 0, err
	}
	r := Request{N: n, Free: free, Policy: heaviest}
	a, err := p.Pick(r)
	if err != nil {
		return 0, 0, err
	}
	q, err := r.check(p.gpus)
	if err != nil {
		return 0, 0, err
	}
	c := p.solver().Figures(q, a.GPUs)
	return c.Weight, c.Cut, nil
}

// Vectors are what Heaviest is for each number of GPUs from 1 to that of the free
// ones: the weights as scores, and the cuts as losses. Index 0 is 1 GPU. An error
// is an *ArgumentError or a *TooLargeError.
func (p *Picker) Vectors(free []int) (scores, losses []int, err error) {
	scores, losses = []int{}, []int{}
	for n := 1; n <= len(free); n++ {
		weight, cut, err := p.Heaviest(free, n)
		if err != nil {
			return nil, nil, err
		}
		scores, losses = append(scores, weight), append(losses, cut)
	}
	return scores, losses, nil
}
