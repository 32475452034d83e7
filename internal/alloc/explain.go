package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Explanation says why a set of GPUs was chosen. Its JSON form only ever grows.
type Explanation struct {
	Chosen Candidate `json:"chosen"`
	// RunnerUp is the best other set; nil if no other meets the request.
	RunnerUp *Candidate `json:"runnerUp,omitempty"`
	// DecidedBy is the first component of Key in which the two differ.
	DecidedBy Component `json:"decidedBy,omitempty"`
	// Key lists the components in the order in which the policy compares them.
	Key []Component `json:"key"`
}

// Candidate is a set of GPUs with what it was judged by.
type Candidate struct {
	GPUs       []int         `json:"gpus"`
	Class      topology.Kind `json:"class"`
	Capability []Count       `json:"capability"` // of the GPUs
	Weight     int           `json:"weight"`
	Rest       []Count       `json:"rest"` // the capability of the free GPUs that remain
	Cut        int           `json:"cut"`
	Locality   int           `json:"locality"`
}

// Count says that as many disjoint sets of Size GPUs can be served at once, each
// with a ring of links of Class or better.
type Count struct {
	Class topology.Kind `json:"class"`
	Size  int           `json:"size"`
	Sets  int           `json:"sets"`
}

// explain compares the best set with the next best.
func (t *table) explain(q query, best set) *Explanation {
	key := keys[q.policy][:]
	e := &Explanation{Chosen: t.candidate(q, best), Key: slices.Concat(key, []Component{ByOrder})}
	second := t.search(q, best)
	if second == 0 {
		return e
	}
	runnerUp := t.candidate(q, second)
	e.RunnerUp, e.DecidedBy = &runnerUp, ByOrder
	for _, c := range key {
		if t.value(c, best, q.free&^best) != t.value(c, second, q.free&^second) {
			e.DecidedBy = c
			break
		}
	}
	return e
}

func (t *table) candidate(q query, s set) Candidate {
	f, rest := t.facts[s], q.free&^s
	return Candidate{
		GPUs: s.gpus(), Class: f.class, Capability: t.capability(s), Weight: int(f.weight),
		Rest: t.capability(rest), Cut: int(t.cut(s, rest)), Locality: int(f.locality),
	}
}

// capability unpacks the counts of a set, the most important first; sizes
// greater than the set are left out.
func (t *table) capability(s set) []Count {
	counts := []Count{}
	packed := t.facts[s].capability
	shift := len(t.classes) * t.width()
	for _, c := range t.classes {
		for _, size := range t.sizes {
			shift -= countBits(size)
			if size <= s.len() {
				counts = append(counts, Count{Class: c, Size: size, Sets: int(packed >> shift & (1<<countBits(size) - 1))})
			}
		}
	}
	return counts
}

// width is the number of bits that the counts of one class take.
func (t *table) width() (w int) {
	for _, size := range t.sizes {
		w += countBits(size)
	}
	return w
}
