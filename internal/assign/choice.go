// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// occupancy is what is known of the GPUs when a choice is made.
type occupancy struct {
	holders  []usage.Holder
	reserved []gpu.BDF // for requests that came earlier
	patient  bool      // better-linked GPUs that come free soon are waited for
}

// Choice is what a Plan gives, and what it was made from.
type Choice struct {
	plan *Plan // without what displaced services had
	occupancy
	free, inUse []int  // healthy GPUs, before any is picked for a count
	picks       []pick // of the plan's wants
	notes       []string
	explanation string
}

// pick is what a want gets.
type pick struct {
	gpus  []int
	class topology.Kind // of those that were picked for a count
}

// giveAnswer gives a want the GPUs of an answer, and notes what is to be said of it.
func (c *Choice) giveAnswer(place int, answer alloc.Answer) {
	w := c.plan.wants[place]
	c.picks[place] = pick{answer.GPUs, answer.Class}
	for _, line := range answer.Warnings {
		c.addNote(w.servicePrefix() + line)
	}
	if answer.Explanation == nil {
		return
	}
	text := answer.Explanation.Text(false)
	switch {
	case w.Service != "":
		text = "service " + w.Service + ":\n" + text
	case len(c.inUse) > 0:
		text += "in use: " + wording.List(c.inUse) + " (metax-ctk ps)\n"
	}
	c.explanation += text
}

func (c *Choice) addNote(line string) { c.notes = appendNew(c.notes, line) }

// unpickedGPUs are the free GPUs that no want gets.
func (c *Choice) unpickedGPUs() []int {
	left := slices.Clone(c.free)
	for _, got := range c.picks {
		left = Without(left, got.gpus)
	}
	return left
}
