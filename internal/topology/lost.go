// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// LostLink is a MetaXLink that two GPUs should have and do not have.
type LostLink struct {
	// GPUs are their indices, ascending.
	GPUs [2]int `json:"gpus"`
	// State is LinkDown or LinkMissing.
	State string `json:"state"`
}

// The states of a LostLink.
const (
	LinkDown    = "down"    // the node states it as down
	LinkMissing = "missing" // one of the few that a domain lacks for a full mesh
)

// FewMissing is the greatest number of links whose lack in a domain is a loss, and not how the
// domain is built.
const FewMissing = 3

// LostLinks are the lost MetaXLinks of a node: those that are down first, each state in the
// order of GPUs.
type LostLinks []LostLink

// Lost returns the node's lost MetaXLinks.
func Lost(node gpu.Node) LostLinks {
	g, _ := New(node)
	return g.Lost(node.Links)
}

// Lost returns the lost MetaXLinks of the node with these links.
func (g *Graph) Lost(links []gpu.Link) (all LostLinks) {
	down := g.down(links)
	for _, pair := range down {
		all = append(all, LostLink{pair, LinkDown})
	}
	for _, domain := range g.Domains() {
		apart := g.Apart(domain)
		for _, pair := range apart {
			if len(apart) <= FewMissing && !slices.Contains(down, pair) {
				all = append(all, LostLink{pair, LinkMissing})
			}
		}
	}
	return all
}

// Apart returns the pairs of GPUs of a domain that MetaXLink does not join directly.
func (g *Graph) Apart(domain []int) (pairs [][2]int) {
	for i, a := range domain {
		for _, b := range domain[i+1:] {
			if g.Kind(a, b) != MX {
				pairs = append(pairs, [2]int{a, b})
			}
		}
	}
	return pairs
}

// down returns the pairs with a MetaXLink that is down, and no MetaXLink that is up.
func (g *Graph) down(links []gpu.Link) [][2]int {
	var down [][2]int
	for _, l := range links {
		a, b := min(l.A, l.B), max(l.A, l.B)
		if !l.Down || l.Kind != MX.String() || a < 0 || a == b || b >= g.n || g.Kind(a, b) == MX {
			continue
		}
		down = append(down, [2]int{a, b})
	}
	slices.SortFunc(down, func(x, y [2]int) int { return slices.Compare(x[:], y[:]) })
	return slices.Compact(down)
}

// Pairs returns the GPUs of the links in that state.
func (l LostLinks) Pairs(state string) (pairs [][2]int) {
	for _, link := range l {
		if link.State == state {
			pairs = append(pairs, link.GPUs)
		}
	}
	return pairs
}

// Lines names the links for people, such as "MetaXLink down: 1-2", in one line for each
// state.
func (l LostLinks) Lines() (lines []string) {
	for _, state := range []string{LinkDown, LinkMissing} {
		if pairs := l.Pairs(state); len(pairs) > 0 {
			lines = append(lines, "MetaXLink "+state+": "+wording.Pairs(pairs))
		}
	}
	return lines
}
