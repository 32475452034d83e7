// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Locality is how near two GPUs sit on the host, whatever their link is. The values are the
// weights of the allocation specification, section 2.
type Locality uint8

// The localities, farthest first.
const (
	LocalityUnknown Locality = iota
	OtherNUMA                // different NUMA nodes
	SameNUMA                 // one NUMA node, different host bridges
	SameHostBridge           // one host bridge, different root ports
	SeveralBridges           // a common bridge further up than the nearest switch
	SameSwitch               // one PCIe switch or bridge
)

// Graph is the complete graph of a node's GPUs: for each pair the class of its link, its
// bandwidth and its locality. The vertices are GPU indices, 0 to Len()-1.
type Graph struct {
	n     int
	kind  []Kind // n×n, symmetric; the diagonal is MX
	local []Locality
	gbps  []float64 // n×n, GB/s, 0 unknown
}

// New builds the Graph of a Node. The kind of a pair is the best among its rows in
// node.Links that are up; without such a row, it follows from PCIe and NUMA. A row whose
// kind is not one of mx-smi's words counts as Unknown, and a warning names it.
func New(node gpu.Node) (g *Graph, warnings []string) {
	n := len(node.GPUs)
	g = &Graph{n: n, kind: make([]Kind, n*n), local: make([]Locality, n*n), gbps: make([]float64, n*n)}
	for i := range n {
		g.kind[i*n+i], g.local[i*n+i] = MX, SameSwitch
		for j := range i {
			local := pcieLocality(node.GPUs[i], node.GPUs[j])
			g.set(i, j, local.pcieKind(), local)
		}
	}
	stated := make([]bool, n*n)
	for _, l := range node.Links {
		if l.Down || l.A == l.B || l.A < 0 || l.B < 0 || l.A >= n || l.B >= n {
			continue
		}
		k, ok := ParseKind(l.Kind)
		if !ok {
			warnings = append(warnings,
				fmt.Sprintf("link %d-%d has kind %q, which is not known here: ranked as unknown", l.A, l.B, l.Kind))
		}
		at, back := g.at(l.A, l.B), g.at(l.B, l.A)
		gbps := l.GBps
		if stated[at] && k == g.kind[at] {
			gbps = max(gbps, g.gbps[at])
		}
		if stated[at] && k < g.kind[at] {
			continue
		}
		stated[at], stated[back] = true, true
		g.set(l.A, l.B, k, g.local[at])
		g.gbps[at], g.gbps[back] = gbps, gbps
	}
	return g, warnings
}

// Len returns the number of GPUs.
func (g *Graph) Len() int { return g.n }

// Kind returns the kind of the link between GPUs i and j, and MX for i == j.
func (g *Graph) Kind(i, j int) Kind { return g.kind[g.at(i, j)] }

// Classes returns the name of the kind of each link, by GPU; "X" for a GPU and itself.
func (g *Graph) Classes() [][]string {
	matrix := make([][]string, g.n)
	for i := range matrix {
		matrix[i] = make([]string, g.n)
		for j := range matrix[i] {
			matrix[i][j] = g.Kind(i, j).String()
		}
		matrix[i][i] = "X"
	}
	return matrix
}

// Locality returns how near GPUs i and j sit on the host.
func (g *Graph) Locality(i, j int) Locality { return g.local[g.at(i, j)] }

// Bandwidth returns the stated bandwidth, in GB/s, of the link between GPUs i and j, and 0
// if it is unknown.
func (g *Graph) Bandwidth(i, j int) float64 { return g.gbps[g.at(i, j)] }

// Domains returns the MetaXLink domains, each ascending, in the order of their first GPUs.
// A GPU without MetaXLink is not in a domain.
func (g *Graph) Domains() [][]int { return g.Joined(MX) }

// Joined returns the sets of GPUs that links of the class or better join, as Domains does for
// MetaXLink.
func (g *Graph) Joined(class Kind) [][]int {
	domains := [][]int{} // in JSON an empty list, not null
	seen := make([]bool, g.n)
	for i := range g.n {
		if seen[i] {
			continue
		}
		seen[i] = true
		domain := []int{i}
		for at := 0; at < len(domain); at++ {
			for j := range g.n {
				if !seen[j] && g.Kind(domain[at], j).Class() >= class {
					seen[j] = true
					domain = append(domain, j)
				}
			}
		}
		if len(domain) > 1 {
			slices.Sort(domain)
			domains = append(domains, domain)
		}
	}
	return domains
}

// MarkDomains sets LinkDomain of the GPUs of the graph: the number of their domain, from 1.
func (g *Graph) MarkDomains(gpus []gpu.GPU) {
	for d, domain := range g.Domains() {
		for _, i := range domain {
			gpus[i].LinkDomain = d + 1
		}
	}
}

func (g *Graph) at(i, j int) int { return i*g.n + j }

func (g *Graph) set(i, j int, k Kind, l Locality) {
	g.kind[g.at(i, j)], g.kind[g.at(j, i)] = k, k
	g.local[g.at(i, j)], g.local[g.at(j, i)] = l, l
}
