// SPDX-License-Identifier: Apache-2.0

package table

import "github.com/metax-ctk/container-toolkit/internal/alloc/key"

// bestSet returns the best set for q; it is empty if no set meets q.
func (t *table) bestSet(q query) set {
	if q.n < 1 || q.n > q.free.len() || q.required.len() > q.n {
		return 0
	}
	if q.required|q.excluded == 0 && (q.scope == key.Any || q.scope == key.Node) && len(t.rows) <= 1<<MaxComplete &&
		q.policy.Objective() != key.ObjectiveWeighted {
		return t.picks[q.policy.Objective()]()[q.free][q.n]
	}
	return t.searchBest(q)
}

// searchBest compares the sets that meet q and returns the best; it is empty if no set
// meets q. Of twins it takes those with the lowest numbers.
func (t *table) searchBest(q query) set {
	c := comparison{evaluator: t.evaluator(q), query: q, key: q.policy.Key(), scoped: q.scope != key.Any &&
		q.scope != key.Node}
	pickable := q.free &^ q.required &^ q.excluded
	for _, twins := range t.twins {
		twins &= pickable
		if twins == 0 {
			continue
		}
		c.twins[c.groups] = twins
		c.groups++
	}
	if c.groups == pickable.len() {
		all := subsetsOf(pickable, q.n-q.required.len())
		for s, ok := all.first(); ok; s, ok = all.after(s) {
			c.consider(s | q.required)
		}
		return c.best
	}
	for g := c.groups - 1; g >= 0; g-- {
		c.room[g] = c.room[g+1] + c.twins[g].len()
	}
	c.visit(0, q.n-q.required.len(), q.required)
	return c.best
}

// comparison is a search in progress.
type comparison struct {
	evaluator
	query
	key    []key.Component
	scoped bool             // sets may be outside of the scope
	groups int              // of twins
	twins  [MaxGPUs]set     // by group: those that may be picked
	room   [MaxGPUs + 1]int // how many they are, from this group on
	best   set
	values [key.MaxComponents]int64 // the components of best, in the order of key
}

// visit considers s with each choice of more GPUs from the groups from g on.
func (c *comparison) visit(g, more int, s set) {
	if more == 0 {
		c.consider(s)
		return
	}
	if more > c.room[g] {
		return
	}
	c.visit(g+1, more, s)
	for left := c.twins[g]; left != 0 && more > 0; left &^= left.first() {
		s |= left.first()
		more--
		c.visit(g+1, more, s)
	}
}

// consider takes s if it is better than the best so far. It computes components only up
// to the one that decides.
func (c *comparison) consider(s set) {
	if s == 0 || (c.scoped && !c.withinScope(c.scope, s)) {
		return
	}
	rest := c.free &^ s
	i := 0
	if c.best != 0 {
		for i < len(c.key) {
			if v := c.value(c.key[i], s, rest); v < c.values[i] {
				return
			} else if v > c.values[i] {
				break
			}
			i++
		}
		if i == len(c.key) && c.best.before(s) {
			return
		}
	}
	c.best = s
	for ; i < len(c.key); i++ {
		c.values[i] = c.value(c.key[i], s, rest)
	}
}

// evaluator computes the components of sets.
type evaluator struct {
	*table
	policy key.Policy
	jobs   []uint8 // of MTF: by free set
}

func (t *table) evaluator(q query) evaluator {
	e := evaluator{table: t, policy: q.policy}
	if q.policy.Objective() == key.ObjectiveMTF {
		e.jobs = t.jobs()
	}
	return e
}

// value returns a component of s as a number of which more is better; rest is the free
// GPUs that are not in s.
func (e *evaluator) value(c key.Component, s, rest set) int64 {
	switch c {
	case key.ByClass:
		return int64(e.rows[s].class)
	case key.ByCapability:
		return int64(e.rows[s].capability)
	case key.ByWeight:
		return int64(e.rows[s].weight)
	case key.ByRest:
		return int64(e.rows[rest].capability)
	case key.ByCut:
		return -e.cutWeight(s, rest)
	case key.ByLocality:
		return int64(e.rows[s].locality)
	case key.ByScore:
		return e.policy.Score(int64(e.rows[s].weight), e.cutWeight(s, rest))
	case key.ByJobs:
		return -int64(e.jobs[rest])
	case key.ByOrder: // has no number
	}
	return 0
}
