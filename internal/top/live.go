// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"time"
)

// Question asks for what a look adds to a State; number counts from 0 how often it was asked.
type Question func(ctx context.Context, number int) (update func(State) State)

// Live is a State that questions keep up to date. Each is asked again and again, one at a
// time, beside the caller, and may take as long as it likes.
type Live struct {
	State State

	questions []Question
	asked     []int // how often, by question
	running   []bool
	answers   chan Answer
	waiting   int // how many questions run
}

// Answer is the answer to a question, for Take.
type Answer struct {
	question int
	update   func(State) State
}

// NewLive returns a Live that has not asked yet.
func NewLive(s State, questions ...Question) *Live {
	return &Live{
		State: s, questions: questions, asked: make([]int, len(questions)), running: make([]bool, len(questions)),
		answers: make(chan Answer, len(questions)),
	}
}

// Start asks the questions that do not still wait for an answer.
func (l *Live) Start(ctx context.Context) {
	for i, ask := range l.questions {
		if l.running[i] {
			continue
		}
		number := l.asked[i]
		l.asked[i], l.running[i] = number+1, true
		l.waiting++
		go func() { l.answers <- Answer{i, ask(ctx, number)} }()
	}
}

// Answers has the answers as they come.
func (l *Live) Answers() <-chan Answer { return l.answers }

// Take adds an answer to the state.
func (l *Live) Take(a Answer) {
	l.State, l.running[a.question] = a.update(l.State), false
	l.waiting--
}

// Look asks, and waits for all answers, or for those that come by the end; it reports whether
// all came.
func (l *Live) Look(ctx context.Context, end <-chan time.Time) bool {
	for l.Start(ctx); l.waiting > 0; {
		select {
		case a := <-l.answers:
			l.Take(a)
		case <-end:
			return false
		}
	}
	return true
}

// Wait waits for the last answers. The programs that are asked have been told to end.
func (l *Live) Wait() {
	for ; l.waiting > 0; l.waiting-- {
		<-l.answers
	}
}
