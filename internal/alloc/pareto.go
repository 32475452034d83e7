package alloc

import (
	"slices"
)

// Front lists sets of GPUs between which a choice is one of taste: of each two,
// one is better in quality and the other does less damage.
type Front struct {
	// Sets are the best in quality first; of those that are equal in both, the one
	// whose indices come first.
	Sets []Candidate `json:"sets"`
	// Complete says that no set is missing. On nodes of more than 16 GPUs only
	// those are found that some policy picks.
	Complete bool `json:"complete"`
}

// quality is what Spread compares first, and damage what Binpack does.
var (
	quality = []Component{ByClass, ByCapability, ByWeight}
	damage  = []Component{ByRest, ByCut}
)

// Pareto lists the sets that meet the request, whatever its policy, and that no
// other set beats in quality (class, capability, weight) without more damage (to
// the capability of the rest, and by the cut). The errors are Pick's.
func (p *Picker) Pareto(r Request) (Front, error) {
	r.Policy, r.Explain = Spread, false
	best, err := p.Pick(r)
	if err != nil {
		return Front{}, err
	}
	q, err := r.check(p.gpus)
	if err != nil {
		return Front{}, err
	}
	if p.table != nil {
		return Front{Sets: p.table().front(q.sets(), func(s set) Candidate { return p.table.figures(q, s.gpus()) }), Complete: true}, nil
	}
	var f Front
	f.add(p.solver(Spread).figures(q, best.GPUs))
	policies := []Policy{Binpack}
	for _, by := range [][2]int64{{1, 0}, {10, 1}, {4, 1}, {2, 1}, {1, 1}, {1, 2}, {1, 4}, {1, 10}, {0, 1}} {
		policies = append(policies, Policy{objective: weighted, gain: 1000 * by[0], loss: 1000 * by[1]})
	}
	for _, q.policy = range policies {
		s, ok := p.solver(q.policy).solve(q)
		if !ok {
			continue
		}
		asked := q
		asked.policy = Spread
		f.add(p.solver(Spread).figures(asked, s.gpus))
	}
	return f, nil
}

// add takes c in, unless one of the sets beats it or is its equal, and drops
// those that it beats.
func (f *Front) add(c Candidate) {
	for _, o := range f.Sets {
		by, less := compareBy(quality, o, c), compareBy(damage, o, c)
		if by >= 0 && less >= 0 && (by+less > 0 || slices.Compare(o.GPUs, c.GPUs) <= 0) {
			return
		}
	}
	f.Sets = slices.DeleteFunc(f.Sets, func(o Candidate) bool {
		return compareBy(quality, c, o) >= 0 && compareBy(damage, c, o) >= 0
	})
	f.Sets = append(f.Sets, c)
	slices.SortFunc(f.Sets, func(a, b Candidate) int { return compareBy(quality, b, a) })
}

// compareBy is 1 if the first component in which they differ speaks for a, -1 if
// for b.
func compareBy(key []Component, a, b Candidate) int {
	for _, c := range key {
		if by := c.compare(a, b); by != 0 {
			return by
		}
	}
	return 0
}

// front finds all sets of a small graph that no other beats.
func (t *table) front(q query, figures func(set) Candidate) []Candidate {
	type point struct {
		set    set
		values [5]int64 // by quality and damage
	}
	v := t.valuer(q)
	key := slices.Concat(quality, damage)
	var points []point
	all := subsetsOf(q.free&^q.required, q.n-q.required.len())
next:
	for others, ok := all.first(); ok; others, ok = all.after(others) {
		p := point{set: others | q.required}
		if !t.within(q.scope, p.set) {
			continue
		}
		for i, c := range key {
			p.values[i] = v.value(c, p.set, q.free&^p.set)
		}
		kept := points[:0]
		for i, o := range points {
			better, less := slices.Compare(o.values[:3], p.values[:3]), slices.Compare(o.values[3:], p.values[3:])
			if better == 0 && less == 0 && o.set.before(p.set) || better >= 0 && less >= 0 && better+less > 0 {
				points = append(kept, points[i:]...)
				continue next
			}
			if better > 0 || less > 0 {
				kept = append(kept, o)
			}
		}
		points = append(kept, p)
	}
	slices.SortFunc(points, func(a, b point) int { return slices.Compare(b.values[:3], a.values[:3]) })
	sets := make([]Candidate, len(points))
	for i, p := range points {
		sets[i] = figures(p.set)
	}
	return sets
}
