// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// linkExceptions returns the pairs whose kinds in both graphs differ, by the kind in stated;
// nil if there are none.
func linkExceptions(stated, implied *topology.Graph) map[string]string {
	rows := map[string][]string{}
	for i := range stated.Len() {
		others := map[string][]int{}
		for j := i + 1; j < stated.Len(); j++ {
			if k := stated.Kind(i, j); k != implied.Kind(i, j) {
				others[k.String()] = append(others[k.String()], j)
			}
		}
		for kind, list := range others {
			rows[kind] = append(rows[kind], fmt.Sprintf("%d:%s", i, wording.Ranges(list)))
		}
	}
	var all map[string]string
	for kind, row := range rows {
		if all == nil {
			all = map[string]string{}
		}
		all[kind] = strings.Join(row, " ")
	}
	return all
}

// decodeLinks returns the links that Domains and Exceptions state, in the order of GPUs.
func (t NodeTopology) decodeLinks() ([]gpu.Link, error) {
	kinds := map[[2]int]string{}
	for kind, rows := range t.Exceptions {
		if k, ok := topology.ParseKind(kind); !ok || k.String() != kind {
			return nil, Invalid(NodeAnnotation, "exceptions of kind %.20q", kind)
		}
		for row := range strings.FieldsSeq(rows) {
			first, list, _ := strings.Cut(row, ":")
			a, err := parseList(first, len(t.GPUs))
			b, errB := parseList(list, len(t.GPUs))
			if err != nil || errB != nil || len(a) != 1 || b[0] <= a[0] {
				return nil, Invalid(NodeAnnotation, "exception %.40q; want a GPU and a list of later ones, such as 0:1-3", row)
			}
			for _, j := range b {
				pair := [2]int{a[0], j}
				if _, twice := kinds[pair]; twice {
					return nil, Invalid(NodeAnnotation, "pair %d:%d is an exception twice", a[0], j)
				}
				kinds[pair] = kind
			}
		}
	}
	in := make([]bool, len(t.GPUs))
	for _, text := range t.Domains {
		domain, err := parseList(text, len(t.GPUs))
		if err != nil {
			return nil, err
		}
		for at, i := range domain {
			if in[i] {
				return nil, Invalid(NodeAnnotation, "GPU %d is in two domains", i)
			}
			in[i] = true
			for _, j := range domain[at+1:] {
				if _, exception := kinds[[2]int{i, j}]; !exception {
					kinds[[2]int{i, j}] = topology.MX.String()
				}
			}
		}
	}
	var links []gpu.Link
	for pair, kind := range kinds {
		links = append(links, gpu.Link{A: pair[0], B: pair[1], Kind: kind})
	}
	gpu.SortLinks(links)
	return links, nil
}

// parseList reads a list of GPUs below gpus, ascending, such as "0-3,8"; it is not empty.
func parseList(text string, gpus int) (list []int, err error) {
	next := 0
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, errFrom := strconv.ParseUint(first, 10, 16)
		to, errTo := strconv.ParseUint(last, 10, 16)
		if errFrom != nil || errTo != nil || int(from) < next || to < from || int(to) >= gpus {
			return nil, Invalid(NodeAnnotation, "%.40q is not a list of GPUs below %d, such as 0-3,5", text, gpus)
		}
		for i := from; i <= to; i++ {
			list = append(list, int(i))
		}
		next = int(to) + 1
	}
	return list, nil
}
