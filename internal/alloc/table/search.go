package table

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// query is a question in sets: n members of free, all of required and none of
// barred among them.
type query struct {
	policy                 key.Policy
	scope                  key.Scope
	free, required, barred set
	n                      int
}

// best returns the best set for q, empty if there is none.
func (t *table) best(q query) set {
	if q.n < 1 || q.n > q.free.len() || q.required.len() > q.n {
		return 0
	}
	if q.required|q.barred == 0 && (q.scope == key.Any || q.scope == key.Node) && len(t.facts) <= 1<<MaxComplete && q.policy.Objective() != key.ObjectiveWeighted {
		return t.picks[q.policy.Objective()]()[q.free][q.n]
	}
	return t.search(q)
}

// maxKey is the greatest number of components of a key.
const maxKey = 6

// search looks at all sets that meet q, and returns the best; empty if there is
// none. Of twins, which nothing but their indices tells apart, it takes those
// that come first.
func (t *table) search(q query) set {
	w := walk{valuer: t.valuer(q), query: q, key: q.policy.Key(), bounded: q.scope != key.Any && q.scope != key.Node}
	pickable := q.free &^ q.required &^ q.barred
	for _, twins := range t.twins {
		twins &= pickable
		if twins == 0 {
			continue
		}
		w.left[w.groups] = twins
		w.groups++
	}
	if w.groups == pickable.len() {
		all := subsetsOf(pickable, q.n-q.required.len())
		for s, ok := all.first(); ok; s, ok = all.after(s) {
			w.weigh(s | q.required)
		}
		return w.best
	}
	for g := w.groups - 1; g >= 0; g-- {
		w.room[g] = w.room[g+1] + w.left[g].len()
	}
	w.visit(0, q.n-q.required.len(), q.required)
	return w.best
}

// walk is a search under way.
type walk struct {
	valuer
	query
	key     []key.Component
	bounded bool // by a scope
	groups  int
	left    [MaxGPUs]set     // the twins of each group that may be picked
	room    [MaxGPUs + 1]int // how many they are from this group on
	best    set
	top     [maxKey]int64 // the best set's components, in the order of key
}

// visit adds more GPUs of the groups from g on to s, in every way there is.
func (w *walk) visit(g, more int, s set) {
	if more == 0 {
		w.weigh(s)
		return
	}
	if more > w.room[g] {
		return
	}
	w.visit(g+1, more, s)
	for left := w.left[g]; left != 0 && more > 0; left &^= left.first() {
		s |= left.first()
		more--
		w.visit(g+1, more, s)
	}
}

// weigh takes s if it is better than the best so far. It goes only as far as it
// takes to see that it is not.
func (w *walk) weigh(s set) {
	if s == 0 || w.bounded && !w.within(w.scope, s) {
		return
	}
	rest := w.free &^ s
	i := 0
	if w.best != 0 {
		for i < len(w.key) {
			if v := w.value(w.key[i], s, rest); v < w.top[i] {
				return
			} else if v > w.top[i] {
				break
			}
			i++
		}
		if i == len(w.key) && w.best.before(s) {
			return
		}
	}
	w.best = s
	for ; i < len(w.key); i++ {
		w.top[i] = w.value(w.key[i], s, rest)
	}
}

// valuer says what sets are worth to a policy.
type valuer struct {
	*table
	policy key.Policy
	jobs   []uint8 // of MTF: by free set
}

func (t *table) valuer(q query) valuer {
	v := valuer{table: t, policy: q.policy}
	if q.policy.Objective() == key.ObjectiveMTF {
		v.jobs = t.jobs()
	}
	return v
}

// value is a component of the key of s as a number, more is better; rest are the
// free GPUs that are not in s.
func (v *valuer) value(c key.Component, s, rest set) int64 {
	switch c {
	case key.ByClass:
		return int64(v.facts[s].class)
	case key.ByCapability:
		return int64(v.facts[s].capability)
	case key.ByWeight:
		return int64(v.facts[s].weight)
	case key.ByRest:
		return int64(v.facts[rest].capability)
	case key.ByCut:
		return -v.cut(s, rest)
	case key.ByLocality:
		return int64(v.facts[s].locality)
	case key.ByScore:
		return v.policy.Score(int64(v.facts[s].weight), v.cut(s, rest))
	case key.ByJobs:
		return -int64(v.jobs[rest])
	}
	return 0 // ByOrder is no number
}

// cut is the weight of the links between two disjoint sets: what their union has
// more than the two by themselves.
func (t *table) cut(s, rest set) int64 {
	return int64(t.facts[s|rest].weight) - int64(t.facts[s].weight) - int64(t.facts[rest].weight)
}

// within reports whether the set lies within the scope.
func (t *table) within(scope key.Scope, s set) bool {
	f := &t.facts[s]
	return scope.Holds(f.place) && (scope != key.Link || f.class == topology.MX)
}
