package alloc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Want is one of several requests that are answered together.
type Want struct {
	N      int
	Policy Policy
}

// Joint is the answer to several Wants.
type Joint struct {
	// Answers are disjoint, in the order of the Wants. Each is explained, if asked
	// for, as the choice among what the others leave.
	Answers []Answer
	// Exact says that it is proven that no other sets are better together.
	Exact bool
	// Method is "table" if all ways were compared, or "orders": the Wants were
	// served one after another, in the best of several orders.
	Method string
}

// WantError is an error that concerns one of the Wants.
type WantError struct {
	Want int // its index
	Err  error
}

func (e *WantError) Error() string { return fmt.Sprintf("request %d: %v", e.Want+1, e.Err) }

func (e *WantError) Unwrap() error { return e.Err }

// Joint picks disjoint sets of the free GPUs, one for each Want, so that they are
// best together: their classes are compared, the worst first, so that no job is
// served at the expense of another; then what the policies ask for, summed over
// the sets, in the order of Spread, or of Binpack if all Wants say so; then the
// indices, those of the largest Want first.
//
// It is exact on nodes of up to 16 GPUs, for these two policies. Otherwise the
// Wants are served one after another, each with the best of what is left, in the
// best of all orders of up to six of them, the largest first beyond that.
// Sets that fit are always found, because any GPUs make a set. An error is that
// of Pick, in a *WantError if it is about one Want.
func (p *Picker) Joint(free []int, wants []Want, explain bool) (Joint, error) {
	total := 0
	for i, w := range wants {
		q, err := Request{N: w.N, Free: free, Policy: w.Policy}.check(p.gpus)
		if err != nil {
			return Joint{}, &WantError{i, err}
		}
		if total += q.n; total > len(free) {
			return Joint{}, &InsufficientError{Need: total, Free: len(free), Of: p.gpus}
		}
	}
	switch {
	case len(wants) == 0:
		return Joint{Exact: true, Method: "table"}, nil
	case p.solver() == nil:
		return Joint{}, &TooLargeError{GPUs: p.gpus, Max: MaxGPUs}
	}
	order := largestFirst(wants)
	if p.table == nil || slices.ContainsFunc(wants, func(w Want) bool { return w.Policy != Spread && w.Policy != Binpack }) {
		answers, err := p.serveInOrders(free, wants, order, explain)
		return Joint{Answers: answers, Method: "orders"}, err
	}
	j := jointSearch{table: p.table(), rest: !slices.ContainsFunc(wants, func(w Want) bool { return w.Policy != Binpack })}
	for _, i := range order {
		j.sizes = append(j.sizes, wants[i].N)
	}
	sets := j.solve(setOf(free))
	answers := make([]Answer, len(wants))
	rest := slices.Clone(free)
	for at, i := range order {
		a, err := p.Pick(Request{N: wants[i].N, Free: rest, Required: sets[at].gpus(), Policy: wants[i].Policy})
		if err != nil {
			return Joint{}, &WantError{i, err}
		}
		answers[i] = a
		rest = slices.DeleteFunc(rest, func(g int) bool { return slices.Contains(a.GPUs, g) })
	}
	for i, a := range answers {
		if explain {
			q := question{n: len(a.GPUs), free: slices.Sorted(slices.Values(slices.Concat(a.GPUs, rest))), policy: a.Policy}
			answers[i].Explanation = p.explain(q, solution{gpus: a.GPUs})
			answers[i].Explanation.Joint = len(wants) > 1
		}
	}
	return Joint{Answers: answers, Exact: true, Method: "table"}, nil
}

// largestFirst is the order in which the Wants are served: the largest first, and
// those as large by policy and index.
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

// jointSearch looks for the best disjoint sets of given sizes.
type jointSearch struct {
	*table
	sizes []int
	rest  bool // what remains counts before the sets
	free  set
	best  []map[set]jointBest // by stage and what is left
}

// jointValue is what sets are worth together, most important first.
type jointValue [6]int64

// jointBest is the best way to serve the Wants from some stage on.
type jointBest struct {
	value jointValue
	take  set // by the first of them
}

func (j *jointSearch) solve(free set) []set {
	j.free = free
	j.best = make([]map[set]jointBest, len(j.sizes))
	for i := range j.best {
		j.best[i] = map[set]jointBest{}
	}
	j.serve(0, free)
	sets := make([]set, len(j.sizes))
	for i := range sets {
		sets[i] = j.best[i][free].take
		free &^= sets[i]
	}
	return sets
}

// serve is the value of the best sets for the Wants from stage i on.
func (j *jointSearch) serve(i int, left set) jointValue {
	if i == len(j.sizes) {
		return j.value(0, int64(j.facts[left].capability), -j.cut(j.free&^left, left))
	}
	if known, ok := j.best[i][left]; ok {
		return known.value
	}
	var best jointBest
	all := subsetsOf(left, j.sizes[i])
	for s, ok := all.first(); ok; s, ok = all.after(s) {
		v := j.value(s, 0, 0)
		for k, more := range j.serve(i+1, left&^s) {
			v[k] += more
		}
		if by := slices.Compare(v[:], best.value[:]); best.take == 0 || by > 0 || by == 0 && s.before(best.take) {
			best = jointBest{v, s}
		}
	}
	j.best[i][left] = best
	return best.value
}

// value is the part of a set in the value of all, or that of the rest.
func (j *jointSearch) value(s set, rest, cut int64) jointValue {
	if s == 0 {
		if j.rest {
			return jointValue{0, rest, cut}
		}
		return jointValue{0, 0, 0, rest, cut}
	}
	f := j.facts[s]
	// One more set of a class weighs more than all sets of the better classes.
	classes := -int64(1) << (5 * (int(topology.MX) - int(f.class)))
	if j.rest {
		return jointValue{classes, 0, 0, int64(f.capability), int64(f.weight), int64(f.locality)}
	}
	return jointValue{classes, int64(f.capability), int64(f.weight), 0, 0, int64(f.locality)}
}
