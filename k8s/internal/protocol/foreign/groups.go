// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// maxGroups bounds the sets of one size that are looked at: Koordinator puts all groups of a
// node in one annotation, which takes about 80 bytes for each and may have 256 KiB.
const maxGroups = 800

// bestGroups returns the sets of n GPUs under one MetaXLink domain or, if there are none,
// under one PCIe switch, and which of the two it is. A size with too many sets to look at has
// none.
func bestGroups(g *topology.Graph, n int) (class topology.Kind, groups [][]int) {
	picker := alloc.New(g)
	for _, class := range []topology.Kind{topology.MX, topology.Switch} {
		joined, count := g.Joined(class), 0
		for _, all := range joined {
			count += countSets(len(all), n)
		}
		if count > maxGroups {
			return class, nil
		}
		for _, all := range joined {
			for _, set := range sets(all, n) {
				if a, err := picker.Pick(alloc.Request{N: n, Free: set}); err == nil && a.Class >= class {
					groups = append(groups, set)
				}
			}
		}
		if len(groups) > 0 {
			return class, groups
		}
	}
	return topology.Unknown, nil
}

// countSets returns how many sets of k of n items there are, or a number above maxGroups.
func countSets(n, k int) int {
	if k > n {
		return 0
	}
	count := 1
	for i := range min(k, n-k) {
		if count = count * (n - i) / (i + 1); count > maxGroups {
			break
		}
	}
	return count
}

// sets returns the sets of k of the items, in their order.
func sets(items []int, k int) (all [][]int) {
	if k == 0 {
		return [][]int{nil}
	}
	for i := range len(items) - k + 1 {
		for _, rest := range sets(items[i+1:], k-1) {
			all = append(all, append([]int{items[i]}, rest...))
		}
	}
	return all
}
