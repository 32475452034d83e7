// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"slices"
	"strings"
)

// inUse is the word of GPUs that someone uses.
const inUse = "in use"

// mark is a state of some GPUs: its word, its sign and its color.
type mark struct {
	word  string
	on    []bool // by GPU
	sign  sign
	color string
}

// markedGPUs returns the GPUs with the mark.
func (m mark) markedGPUs() (indices []int) {
	for i, on := range m.on {
		if on {
			indices = append(indices, i)
		}
	}
	return indices
}

// setMarks collects the marks that some GPU has, in the order in which a GPU shows them.
func (s *checkedView) setMarks() {
	divided, unhealthy := make([]bool, len(s.gpus)), make([]bool, len(s.gpus))
	for i, g := range s.gpus {
		_, divided[i] = g.Divided()
		unhealthy[i] = !g.Healthy
	}
	for _, m := range []mark{
		{word: "runner-up", on: s.second, sign: signSecond, color: pickEdge},
		{word: "picked", on: s.picked, sign: signPicked, color: pickEdge},
		{word: inUse, on: s.inUse, sign: signInUse, color: inUseEdge},
		{word: "divided", on: divided, sign: signDivided, color: partEdge},
		{word: "unhealthy", on: unhealthy, sign: signUnhealthy, color: unhealthyEdge},
	} {
		if slices.Contains(m.on, true) {
			s.marks = append(s.marks, m)
		}
	}
}

// marksOf returns the marks of a GPU; those that speak against picking it come last.
func (s *checkedView) marksOf(i int) (marks []mark) {
	for _, m := range s.marks {
		if m.on[i] {
			marks = append(marks, m)
		}
	}
	return marks
}

// statusWords returns the words of the marks of a GPU, such as "picked, in use".
func (s *checkedView) statusWords(i int) string {
	var words []string
	for _, m := range s.marksOf(i) {
		words = append(words, m.word)
		if u := s.holderName(i); m.word == inUse && u != "" {
			words[len(words)-1] += " by " + u
		}
	}
	return strings.Join(words, ", ")
}
