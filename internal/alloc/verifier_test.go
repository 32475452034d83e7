package alloc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Verdict says how far an answer was verified that was not found wrong.
type Verdict struct {
	// All says that every other set of as many free GPUs was to be compared with
	// the answer; otherwise those that differ from it in one GPU.
	All bool
	// Sets is how many such sets there are, and Compared how many of them were
	// looked at; of those, Undecided could not be told from the answer within the
	// work that a verification may do.
	Sets      int
	Compared  int
	Undecided int
	// Unknown names the figures that could not be worked out again within it.
	Unknown []string
	// Better is the best set among those compared, if it is better than an answer
	// that did not claim to be the best, and BetterBy what makes it so.
	Better   []int
	BetterBy key.Component
	// Best says that the answer is proven to be the best: all other sets were compared with
	// it, and it is better.
	Best bool
}

// Complete reports whether the answer is proven to be the best.
func (v Verdict) Complete() bool {
	return v.All && v.Compared == v.Sets && v.Undecided == 0 && v.Better == nil
}

// Text is the verdict in words; it ends with a newline.
func (v Verdict) Text() string {
	var b strings.Builder
	others := "other sets"
	if !v.All {
		others += " that differ in one GPU"
	}
	fmt.Fprintf(&b, "figures are right; compared with %d of %d %s", v.Compared-v.Undecided, v.Sets, others)
	switch {
	case v.Better != nil:
		fmt.Fprintf(&b, ": not the best, %s are better by %v\n", join(v.Better), v.BetterBy)
	case v.Complete():
		b.WriteString(": none is better\n")
	default:
		fmt.Fprintf(&b, ": none of them is known to be better\n")
	}
	if v.Undecided > 0 {
		fmt.Fprintf(&b, "not told apart within the work allowed: %d sets\n", v.Undecided)
	}
	if len(v.Unknown) > 0 {
		fmt.Fprintf(&b, "not worked out again within the work allowed: %s\n", strings.Join(v.Unknown, ", "))
	}
	return b.String()
}

// WrongError reports what is wrong about an answer.
type WrongError struct {
	What      string // the figure, such as "weight of the chosen set"
	Got, Want string
}

func (e *WrongError) Error() string {
	return fmt.Sprintf("%s: got %s, want %s", e.What, e.Got, e.Want)
}

func wrong(what string, got, want any) error {
	return &WrongError{What: what, Got: fmt.Sprint(got), Want: fmt.Sprint(want)}
}

// Verify checks an answer to a request about a graph weighed by w. It works from
// the definitions alone and shares no code with the solvers. First it checks that
// the set meets the request, then its class and each figure of the explanation,
// if there is one, and last that no other set is better: of all sets, if there
// are at most 20,000, otherwise of those that differ from the answer in one GPU.
// What it may do is bounded in steps, not in time, and the Verdict says what that
// left open.
//
// An error is a *WrongError, or an *ArgumentError for a request or a bandwidth
// that makes no sense. A better set makes an answer wrong only if that claims to
// be Exact.
func Verify(g *topology.Graph, w link.Weights, r Request, a Answer) (Verdict, error) {
	q, err := r.check(g.Len())
	if err != nil {
		return Verdict{}, err
	}
	j, err := newJudge(g, w, q)
	if err != nil {
		return Verdict{}, err
	}
	if a.Method == "exchange" {
		j.exchanged()
	}
	if a.Policy != q.Policy {
		return Verdict{}, wrong("policy", a.Policy, q.Policy)
	}
	if r.Sizes == Enforce && !slices.Contains(recommended, q.N) {
		return Verdict{}, wrong("number of GPUs, which the size rule refuses", q.N, "1, 2, 4 or 8")
	}
	chosen, err := j.sound("the chosen set", a.GPUs)
	if err != nil {
		return Verdict{}, err
	}
	if err := j.figure(chosen, "the chosen set", key.ByClass, key.Candidate{Class: a.Class}); err != nil {
		return Verdict{}, err
	}
	rival, err := j.explained(chosen, r, a)
	if err != nil {
		return Verdict{}, err
	}
	v, err := j.others(chosen, rival, a)
	v.Unknown = j.unknown
	v.Best = v.Complete()
	return v, err
}

// verifiedKeys is what each policy compares, as the allocation specification,
// section 4, has it: written down once more, so that an error in the table of the
// solvers is seen.
var verifiedKeys = map[key.Objective][]key.Component{
	key.ObjectiveSpread:   {key.ByClass, key.ByCapability, key.ByWeight, key.ByRest, key.ByCut, key.ByLocality},
	key.ObjectiveBinpack:  {key.ByClass, key.ByRest, key.ByCut, key.ByCapability, key.ByWeight, key.ByLocality},
	key.ObjectiveWeighted: {key.ByScore},
	key.ObjectiveMTF:      {key.ByJobs, key.ByClass, key.ByCut},
	key.ObjectiveFirst:    nil,
}

// exchanged has the judge compare as section 5.4 has it for large graphs whose links do
// not nest: capabilities do not decide, and what an explanation says of them may be less
// than there is.
func (j *judge) exchanged() {
	j.bounded = true
	if o := j.q.Policy.Objective(); o == key.ObjectiveSpread || o == key.ObjectiveBinpack {
		j.key = []key.Component{key.ByClass, key.ByWeight, key.ByCut}
	}
}

// sound checks that gpus are a set that meets the request.
func (j *judge) sound(what string, gpus []int) (*weighed, error) {
	if len(gpus) != j.q.N {
		return nil, wrong("number of GPUs of "+what, len(gpus), j.q.N)
	}
	for i, g := range gpus {
		if i > 0 && gpus[i-1] >= g {
			return nil, wrong("order of the GPUs of "+what, join(gpus), "each once, ascending")
		}
		if !slices.Contains(j.q.Free, g) {
			return nil, wrong("a GPU of "+what, g, "one that is free")
		}
	}
	for _, g := range j.q.Required {
		if !slices.Contains(gpus, g) {
			return nil, wrong("GPUs of "+what, join(gpus), "with "+join(j.q.Required))
		}
	}
	s := j.weigh(gpus)
	if inside, known := j.inside(s); !known {
		j.unknown = append(j.unknown, "scope of "+what)
	} else if !inside {
		return nil, wrong("scope of "+what, join(gpus), scopeWords[j.q.Scope])
	}
	return s, nil
}

// explained checks the explanation, if there is one, and returns the runner-up,
// if there is one.
func (j *judge) explained(chosen *weighed, r Request, a Answer) (*weighed, error) {
	e := a.Explanation
	if e == nil {
		if r.Explain {
			return nil, wrong("explanation", "none", "one")
		}
		return nil, nil
	}
	policy := j.q.Policy
	if key := slices.Concat(j.key, []key.Component{key.ByOrder}); !slices.Equal(e.Key, key) {
		return nil, wrong("key of the explanation", e.Key, key)
	}
	if e.Policy != policy.String() {
		return nil, wrong("policy of the explanation", e.Policy, policy)
	}
	if e.Exact && !a.Exact {
		return nil, wrong("exactness of the explanation", e.Exact, a.Exact)
	}
	if !slices.Equal(e.Chosen.GPUs, a.GPUs) {
		return nil, wrong("chosen set of the explanation", join(e.Chosen.GPUs), join(a.GPUs))
	}
	if err := j.figures(chosen, "the chosen set", e.Chosen); err != nil {
		return nil, err
	}
	if e.RunnerUp == nil {
		if e.DecidedBy != 0 {
			return nil, wrong("deciding component without a runner-up", e.DecidedBy, key.Component(0))
		}
		return nil, nil
	}
	rival, err := j.sound("the runner-up", e.RunnerUp.GPUs)
	if err != nil {
		return nil, err
	}
	if slices.Equal(rival.gpus, chosen.gpus) {
		return nil, wrong("runner-up", join(rival.gpus), "another set than the chosen one")
	}
	if err := j.figures(rival, "the runner-up", *e.RunnerUp); err != nil {
		return nil, err
	}
	by, decided, known := chosen.compare(rival)
	switch {
	case !known:
		j.unknown = append(j.unknown, "order of the chosen set and the runner-up")
	case by < 0 && a.Exact:
		return nil, betterError(chosen, rival, decided)
	case decided != e.DecidedBy:
		return nil, wrong("deciding component", e.DecidedBy, decided)
	}
	return rival, nil
}

func betterError(than, s *weighed, by key.Component) error {
	return wrong("best set", join(than.gpus), fmt.Sprintf("%s, better by %v", join(s.gpus), by))
}

// others compares the answer with other sets, and also its runner-up if the explanation
// claims that only the answer is better.
func (j *judge) others(chosen, rival *weighed, a Answer) (v Verdict, err error) {
	best := chosen
	var each func(func(gpus []int) bool)
	v.All, v.Sets, each = j.neighbourhood(chosen.gpus)
	each(func(gpus []int) bool {
		if j.steps < 0 {
			return false
		}
		s := j.weigh(gpus)
		v.Compared++
		inside, known := j.inside(s)
		if known && !inside {
			return true
		}
		by, decided := 0, key.Component(0)
		if known {
			by, decided, known = s.compare(best)
		}
		if known && a.Explanation != nil && by < 0 {
			switch {
			case rival == nil:
				err = wrong("runner-up", "none", join(s.gpus))
				return false
			case a.Explanation.Exact && !slices.Equal(s.gpus, rival.gpus):
				var over int
				if over, _, known = s.compare(rival); known && over > 0 {
					err = wrong("runner-up", join(rival.gpus), join(s.gpus))
					return false
				}
			}
		}
		switch {
		case !known:
			v.Undecided++
		case by > 0 && a.Exact:
			err = betterError(chosen, s, decided)
			return false
		case by > 0:
			best, v.Better, v.BetterBy = s, s.gpus, decided
		}
		return true
	})
	return v, err
}
