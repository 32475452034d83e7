// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"cmp"
	"errors"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// maxOrders is the greatest number of Wants that are served in every order.
const maxOrders = 6

// serveInOrders serves the Wants one after another in the best of several orders: the
// classes of the sets are compared, the worst first, then the sum of their weights. Of
// equally good orders the earlier one counts; the given one is the first. An order in which
// a Want finds no set is not good; the error is that of the first one if there is no other.
func (p *Picker) serveInOrders(free []int, wants []Want, order []int, explain bool) ([]Answer, error) {
	best, unmet := p.serve(free, wants, order, false)
	if unmet != nil && !errors.Is(unmet, ErrUnmet) {
		return nil, unmet
	}
	at := slices.Clone(order)
	for next := slices.Clone(order); len(wants) <= maxOrders && permute(next, order, wants); {
		answers, err := p.serve(free, wants, next, false)
		if err != nil {
			continue
		}
		if best == nil ||
			cmp.Or(slices.Compare(classesOf(answers), classesOf(best)), cmp.Compare(p.weigh(answers), p.weigh(best))) > 0 {
			best, at = answers, slices.Clone(next)
		}
	}
	if best == nil {
		return nil, unmet
	}
	if explain {
		return p.serve(free, wants, at, true)
	}
	return best, nil
}

// serve picks for the Wants in one order. The answers are in the order of the Wants.
func (p *Picker) serve(free []int, wants []Want, order []int, explain bool) ([]Answer, error) {
	free = slices.Clone(free)
	answers := make([]Answer, len(wants))
	for _, i := range order {
		r := wants[i].requestFrom(free)
		r.Explain = explain
		answer, err := p.Pick(r)
		if err != nil {
			return nil, &WantError{i, err}
		}
		answers[i] = answer
		free = slices.DeleteFunc(free, func(g int) bool { return slices.Contains(answer.GPUs, g) })
	}
	return answers, nil
}

// classesOf returns the classes of the sets, worst first; the greater list is better.
func classesOf(answers []Answer) []topology.Kind {
	out := make([]topology.Kind, len(answers))
	for i, a := range answers {
		out[i] = a.Class
	}
	slices.Sort(out)
	return out
}

// weigh returns the sum of the weights of the sets.
func (p *Picker) weigh(answers []Answer) (sum int) {
	for _, a := range answers {
		for at, i := range a.GPUs {
			for _, j := range a.GPUs[:at] {
				sum += p.graph.Weight(i, j)
			}
		}
	}
	return sum
}

// permute makes the next order of Wants, in the lexicographic order that begins with first.
// Equal Wants keep their order, because exchanging them changes nothing. It returns false
// after the last order.
func permute(order, first []int, wants []Want) bool {
	rank := func(want int) int {
		at := slices.Index(first, want)
		for at > 0 && wants[first[at-1]] == wants[want] {
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
