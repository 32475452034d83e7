// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
)

// Want is one of several requests that are answered together.
type Want struct {
	N      int
	Policy key.Policy
	Scope  key.Scope
	Sizes  SizeRule
	// SizesOrigin is the setting that Sizes is from, for messages; may be empty.
	SizesOrigin string
}

// requestFrom returns the request for the want alone.
func (w Want) requestFrom(free []int) Request {
	return Request{N: w.N, Free: free, Policy: w.Policy, Scope: w.Scope, Sizes: w.Sizes, SizesOrigin: w.SizesOrigin}
}

// limited reports whether the want's policy or scope is one that the table cannot weigh
// together with others.
func (w Want) limited() bool {
	return (w.Policy != key.Spread && w.Policy != key.Binpack) || (w.Scope != key.Any && w.Scope != key.Node)
}

// Joint is the answer to several Wants.
type Joint struct {
	// Answers are disjoint, in the order of the Wants. If explained, each is explained as
	// the choice among the GPUs that the others leave.
	Answers []Answer
	// Exact says that it is proven that no other sets are better together.
	Exact bool
	// Method is "table" if all choices were compared, or "orders" if the Wants were served
	// one after another, in the best of several orders.
	Method string
}

// WantError is an error about one of the Wants.
type WantError struct {
	Want int // its index
	Err  error
}

func (e *WantError) Error() string { return fmt.Sprintf("request %d: %v", e.Want+1, e.Err) }

func (e *WantError) Unwrap() error { return e.Err }

// Joint picks disjoint sets of the free GPUs, one for each Want, so that they are best
// together. Their classes are compared, the worst first, so that no job is served at the
// expense of another; then the other components, summed over the sets, in the order of
// Spread, or of Binpack if all Wants have that policy; then the GPU numbers, those of the
// largest Want first.
//
// It is exact on nodes of up to 16 GPUs, for these two policies and without a Scope. Otherwise
// the Wants are served one after another, each with the best of the GPUs that are left: up to
// six Wants in the best of all orders, more with the largest first. An error is that of Pick,
// in a
// *WantError if it is about one Want.
func (p *Picker) Joint(free []int, wants []Want, explain bool) (Joint, error) {
	total := 0
	for i, w := range wants {
		q, err := w.requestFrom(free).toQuestion(p.gpus)
		if err != nil {
			return Joint{}, &WantError{i, err}
		}
		if total += q.N; total > len(free) {
			return Joint{}, &InsufficientError{Need: total, Free: len(free), Of: p.gpus}
		}
	}
	switch {
	case len(wants) == 0:
		return Joint{Exact: true, Method: "table"}, nil
	case p.nodeSolver() == nil:
		return Joint{}, &TooLargeError{GPUs: p.gpus, Max: tree.MaxGPUs}
	}
	for i, w := range wants {
		if w.Sizes == Enforce && !slices.Contains(recommended, w.N) {
			return Joint{},
				&WantError{i, p.sizeError(key.Question{N: w.N, Free: free, Policy: w.Policy, Scope: w.Scope}, w.SizesOrigin)}
		}
	}
	order := largestFirst(wants)
	if p.table == nil || slices.ContainsFunc(wants, Want.limited) {
		answers, err := p.serveInOrders(free, wants, order, explain)
		return Joint{Answers: answers, Method: "orders"}, err
	}
	var sizes []int
	for _, i := range order {
		sizes = append(sizes, wants[i].N)
	}
	sets := p.table.Joint(free, sizes, !slices.ContainsFunc(wants, func(w Want) bool { return w.Policy != key.Binpack }))
	answers := make([]Answer, len(wants))
	rest := slices.Clone(free)
	for at, i := range order {
		a, err := p.Pick(
			Request{N: wants[i].N, Free: rest, Required: sets[at], Policy: wants[i].Policy, Sizes: wants[i].Sizes})
		if err != nil {
			return Joint{}, &WantError{i, err}
		}
		answers[i] = a
		rest = slices.DeleteFunc(rest, func(g int) bool { return slices.Contains(a.GPUs, g) })
	}
	for i, a := range answers {
		if explain {
			q := key.Question{N: len(a.GPUs), Free: slices.Sorted(slices.Values(slices.Concat(a.GPUs, rest))), Policy: a.Policy}
			answers[i].Explanation = p.explainChoice(q, key.Solution{GPUs: a.GPUs})
			answers[i].Explanation.Joint = len(wants) > 1
		}
	}
	return Joint{Answers: answers, Exact: true, Method: "table"}, nil
}

// largestFirst returns the order in which the Wants are served: the largest first, and
// Wants of one size by policy and index.
func largestFirst(wants []Want) []int {
	order := make([]int, len(wants))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := wants[a], wants[b]
		return cmp.Or(cmp.Compare(y.N, x.N), cmp.Compare(x.Policy.String(), y.Policy.String()))
	})
	return order
}
