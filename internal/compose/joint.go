package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// maxOrders is up to how many services all orders of serving them are tried.
const maxOrders = 6

// Count asks for any so many GPUs for one service.
type Count struct {
	Service string
	N       int
	Policy  alloc.Policy
}

// Joint picks disjoint sets of the free GPUs, one for each service. The services
// are served one after another, each with the best set of what the earlier ones
// left, in the order whose sets are best: their classes are compared, the worst
// first, and among equals the first order counts, which serves the largest first
// and those as large by policy and name. Up to six services all orders are tried,
// beyond that only the first. Sets that fit are always found, because any GPUs
// make a set. Errors are alloc's, with the service.
func Joint(picker *alloc.Picker, free []int, counts []Count, explain bool) ([]alloc.Answer, error) {
	order := make([]int, len(counts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := counts[a], counts[b]
		return cmp.Or(cmp.Compare(y.N, x.N), cmp.Compare(x.Policy, y.Policy), strings.Compare(x.Service, y.Service))
	})
	best, err := serve(picker, free, counts, order, explain)
	if err != nil || len(counts) > maxOrders {
		return best, err
	}
	for next := slices.Clone(order); permute(next, order, counts); {
		answers, err := serve(picker, free, counts, next, explain)
		if err != nil {
			return nil, err
		}
		if slices.Compare(classes(answers), classes(best)) > 0 {
			best = answers
		}
	}
	return best, nil
}

// serve picks in one order. The answers are in the order of counts.
func serve(picker *alloc.Picker, free []int, counts []Count, order []int, explain bool) ([]alloc.Answer, error) {
	free = slices.Clone(free)
	answers := make([]alloc.Answer, len(counts))
	for _, i := range order {
		answer, err := picker.Pick(alloc.Request{N: counts[i].N, Free: free, Policy: counts[i].Policy, Explain: explain})
		if err != nil {
			return nil, fmt.Errorf("service %q: %w", counts[i].Service, err)
		}
		answers[i] = answer
		free = slices.DeleteFunc(free, func(g int) bool { return slices.Contains(answer.GPUs, g) })
	}
	return answers, nil
}

// classes are the classes of the sets, worst first; the greater is better.
func classes(answers []alloc.Answer) []topology.Kind {
	out := make([]topology.Kind, len(answers))
	for i, a := range answers {
		out[i] = a.Class
	}
	slices.Sort(out)
	return out
}

// permute makes the next order of services, in the lexical order that begins with
// first; requests that are alike keep theirs, as they can be exchanged. It says
// false after the last.
func permute(order, first []int, counts []Count) bool {
	rank := func(service int) int {
		at := slices.Index(first, service)
		for at > 0 && alike(counts[first[at-1]], counts[service]) {
			at--
		}
		return at
	}
	i := len(order) - 2
	for i >= 0 && rank(order[i]) >= rank(order[i+1]) {
		i--
	}
	if i < 0 {
		return false
	}
	j := len(order) - 1
	for rank(order[j]) <= rank(order[i]) {
		j--
	}
	order[i], order[j] = order[j], order[i]
	slices.Reverse(order[i+1:])
	return true
}

func alike(a, b Count) bool { return a.N == b.N && a.Policy == b.Policy }
