// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Text says in words which links the set has, what it leaves for the next job, and why it
// was chosen over the runner-up. With figures, a table follows with the components of both
// sets in the order of the key; an arrow marks the one that decided. Text ends with a
// newline.
func (e *Explanation) Text(figures bool) string {
	text := links(e.Chosen.GPUs, e.Chosen.Class) + "\n" + leaves(e.Chosen) + e.sentence() + "\n"
	switch {
	case len(e.Chosen.GPUs) < 2:
		text = leaves(e.Chosen) + e.sentence() + "\n"
	case e.RunnerUp != nil && e.DecidedBy == key.ByClass && !e.inferior():
		text = fmt.Sprintf("%s; the next best, %s, would %s\n", links(e.Chosen.GPUs, e.Chosen.Class),
			wording.Ranges(e.RunnerUp.GPUs), crosses(*e.RunnerUp)) + leaves(e.Chosen)
	}
	if figures {
		if table := e.figuresTable(); table != "" {
			text += "\n" + table
		}
	}
	return text
}

// links says how GPUs of a link class are linked.
func links(gpus []int, class topology.Kind) string {
	set := wording.Ranges(gpus)
	switch {
	case len(gpus) == 1:
		return "GPU " + set + " (one GPU needs no link)"
	case class == topology.Unknown:
		return "the links among " + set + " are not known"
	case class != topology.MX:
		return fmt.Sprintf("the links among %s cross %s (%v)", set, class.Meaning(), class)
	case len(gpus) == 2:
		return set + " are linked by MetaXLink"
	}
	return set + " are all linked by MetaXLink"
}

// crosses says what the links of a set cross that is below class MX.
func crosses(c key.Candidate) string {
	if c.Class == topology.Unknown {
		return "have links that are not known"
	}
	return fmt.Sprintf("cross PCIe (%v)", c.Class)
}

// leaves returns a line about the best GPUs that are left for the next job; it is empty if
// the links do not tell.
func leaves(c key.Candidate) string {
	for _, count := range c.Rest {
		switch {
		case count.Sets == 1:
			return fmt.Sprintf("left for the next job: %d GPUs linked by %v\n", count.Size, count.Class)
		case count.Sets > 1:
			return fmt.Sprintf("left for the next jobs: %d sets of %d GPUs linked by %v\n", count.Sets, count.Size, count.Class)
		}
	}
	return ""
}

// sentence says why the set was chosen, without a newline.
func (e *Explanation) sentence() string {
	chosen, other := e.Chosen, e.RunnerUp
	switch {
	case other == nil && !e.Exact:
		return fmt.Sprintf("chosen %s; other sets were not compared", wording.Ranges(chosen.GPUs))
	case other == nil:
		return fmt.Sprintf("chosen %s, the only set that meets the request", wording.Ranges(chosen.GPUs))
	case e.inferior():
		return fmt.Sprintf("chosen %s together with the other requests; by itself %s is better because %s",
			wording.Ranges(chosen.GPUs), wording.Ranges(other.GPUs), e.reason(*other, chosen))
	case e.DecidedBy == key.ByOrder:
		return fmt.Sprintf("chosen %s over %s: %s", wording.Ranges(chosen.GPUs), wording.Ranges(other.GPUs),
			e.reason(chosen, *other))
	}
	return fmt.Sprintf("chosen %s over %s because %s", wording.Ranges(chosen.GPUs), wording.Ranges(other.GPUs),
		e.reason(chosen, *other))
}

// inferior reports whether the runner-up is better by itself.
func (e *Explanation) inferior() bool {
	by := e.DecidedBy.Compare(e.Chosen, *e.RunnerUp)
	return by < 0 || (e.DecidedBy == key.ByOrder && slices.Compare(e.Chosen.GPUs, e.RunnerUp.GPUs) > 0)
}

// reason is the second half of the sentence: why a is better than b.
func (e *Explanation) reason(a, b key.Candidate) string {
	switch e.DecidedBy {
	case key.ByClass:
		return fmt.Sprintf("their link class is %v, that of the others %v", a.Class, b.Class)
	case key.ByCapability:
		return "among them are " + difference(a.Capability, b.Capability)
	case key.ByWeight:
		return "the links among them are better on the whole"
	case key.ByRest:
		return "the GPUs left free still hold " + difference(a.Rest, b.Rest)
	case key.ByCut:
		return "they cut fewer or weaker links to the GPUs left free"
	case key.ByLocality:
		return "they are nearer to each other on PCIe and NUMA"
	case key.ByScore:
		return "the policy scores them higher"
	case key.ByJobs:
		return "fewer, larger jobs fill the GPUs left free"
	case key.ByOrder: // below
	}
	if len(e.Key) == 1 {
		return "lower GPU numbers win"
	}
	return "equally good; lower GPU numbers win"
}

// difference names the most important count in which two capabilities differ.
func difference(a, b []key.Count) string {
	for i, c := range a {
		if i < len(b) && c != b[i] {
			what := fmt.Sprintf("sets of %d", c.Size)
			if c.Size == 2 {
				what = "pairs"
			}
			more := "more"
			if c.Sets < b[i].Sets {
				more = "fewer"
			}
			return fmt.Sprintf("%s %s linked by %v: %d against %d", more, what, c.Class, c.Sets, b[i].Sets)
		}
	}
	return "equally many sets"
}
