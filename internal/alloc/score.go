// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// NodeScore is what a node offers for a number of GPUs: the best answer by a policy, and
// what it does to the node. Its JSON form is a contract: fields are only added.
type NodeScore struct {
	Policy string `json:"policy"`
	GPUs   []int  `json:"gpus"`
	// Free is how many GPUs are free before the pick.
	Free       int           `json:"free"`
	Class      topology.Kind `json:"class"`
	Capability []key.Count   `json:"capability"` // of the GPUs
	Weight     int           `json:"weight"`
	// Before and After are the capability of the free GPUs before and after the pick;
	// Loss is the difference.
	Before   []key.Count `json:"before"`
	After    []key.Count `json:"after"`
	Loss     []key.Count `json:"loss"`
	Cut      int         `json:"cut"`
	Locality int         `json:"locality"`
	// Score is of the policy Weighted alone, as in a Candidate. Jobs is given under every
	// policy.
	Score float64 `json:"score,omitempty"`
	Jobs  int     `json:"jobs"`
	// Worst is the worst link class on the node, which every set of its GPUs fits.
	Worst topology.Kind `json:"worst"`
	// Key lists the components in the order in which Order compares them.
	Key []key.Component `json:"key"`
	// Exact says that it is proven that the node has no better answer; Method names the
	// algorithm that found it.
	Exact  bool   `json:"exact"`
	Method string `json:"method"`
}

// Score returns the score of the best answer to a request. Errors are those of Pick.
func (p *Picker) Score(r Request) (NodeScore, error) {
	a, err := p.Pick(r)
	if err != nil {
		return NodeScore{}, err
	}
	q, err := r.toQuestion(p.gpus)
	if err != nil {
		return NodeScore{}, err
	}
	before, c := p.nodeSolver().Figures(q, q.Free), p.nodeSolver().Figures(q, a.GPUs)
	q.Policy = key.MTF
	s := NodeScore{
		Policy: r.Policy.String(), GPUs: a.GPUs, Free: len(r.Free), Class: c.Class, Capability: c.Capability,
		Weight: c.Weight,
		Before: before.Capability, After: c.Rest, Loss: []key.Count{}, Cut: c.Cut, Locality: c.Locality,
		Score: c.Score, Jobs: p.nodeSolver().Figures(q, a.GPUs).Jobs,
		Worst: p.worst(), Key: append([]key.Component{}, r.Policy.Key()...), Exact: a.Exact, Method: a.Method,
	}
	for _, c := range s.Before {
		c.Sets -= s.setsOf(s.After, s.Free-len(s.GPUs), c.Class, c.Size)
		s.Loss = append(s.Loss, c)
	}
	return s, nil
}

// worst returns the worst class of a link on the node, and MX if it has fewer than two GPUs.
func (p *Picker) worst() topology.Kind {
	all := p.graph.Classes()
	if len(all) == 0 {
		return topology.MX
	}
	return all[len(all)-1]
}

// setsOf returns how many disjoint sets of that size fit the class among so many GPUs, by
// their capability. A capability leaves out the class that every set fits, and classes of
// which the node has no link.
func (s NodeScore) setsOf(capability []key.Count, gpus int, class topology.Kind, size int) (sets int) {
	if class <= s.Worst {
		return gpus / size
	}
	for _, c := range capability {
		if c.Class >= class && c.Size == size {
			sets = c.Sets // the last one is of the worst such class
		}
	}
	return sets
}
