package alloc

import "github.com/metax-ctk/container-toolkit/internal/topology"

// query is a question in sets: n members of free, all of required among them.
type query struct {
	policy         Policy
	scope          Scope
	free, required set
	n              int
}

// best returns the best set for q, empty if there is none.
func (t *table) best(q query) set {
	if q.n < 1 || q.n > q.free.len() {
		return 0
	}
	if picks := t.picks[q.policy]; picks != nil && q.required == 0 && (q.scope == Any || q.scope == Node) {
		return picks[q.free][q.n]
	}
	return t.search(q, 0)
}

// search looks at all sets that meet q, and returns the best that is not except;
// empty if there is none. A set is weighed only as far as it takes to see that
// it is worse than the best so far.
func (t *table) search(q query, except set) (best set) {
	key := &keys[q.policy]
	var top [len(key)]int64 // the best set's components, in the order of key
	all := subsetsOf(q.free&^q.required, q.n-q.required.len())
next:
	for others, ok := all.first(); ok; others, ok = all.after(others) {
		s := others | q.required
		if s == except || !t.within(q.scope, s) {
			continue
		}
		rest := q.free &^ s
		i := 0
		if best != 0 {
			for i < len(key) {
				if v := t.value(key[i], s, rest); v < top[i] {
					continue next
				} else if v > top[i] {
					break
				}
				i++
			}
			if i == len(key) && best.before(s) {
				continue
			}
		}
		best = s
		for ; i < len(key); i++ {
			top[i] = t.value(key[i], s, rest)
		}
	}
	return best
}

// value is a component of the key of s as a number, more is better; rest are the
// free GPUs that are not in s.
func (t *table) value(c Component, s, rest set) int64 {
	switch c {
	case ByClass:
		return int64(t.facts[s].class)
	case ByCapability:
		return int64(t.facts[s].capability)
	case ByWeight:
		return int64(t.facts[s].weight)
	case ByRest:
		return int64(t.facts[rest].capability)
	case ByCut:
		return -t.cut(s, rest)
	case ByLocality:
		return int64(t.facts[s].locality)
	}
	return 0 // ByOrder is no number
}

// cut is the weight of the links between two disjoint sets: what their union has
// more than the two by themselves.
func (t *table) cut(s, rest set) int64 {
	return int64(t.facts[s|rest].weight) - int64(t.facts[s].weight) - int64(t.facts[rest].weight)
}

// within tells whether the set lies within the scope.
func (t *table) within(scope Scope, s set) bool {
	switch scope {
	case Link:
		return t.facts[s].class == topology.MX
	case Switch:
		return t.facts[s].place == topology.SameSwitch
	case NUMA:
		return t.facts[s].place >= topology.SameNUMA
	}
	return true
}
