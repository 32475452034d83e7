// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"time"
)

// Schedule says when looks are taken.
type Schedule struct {
	// Interval is the pause between looks; 0 takes them only after events.
	Interval time.Duration
	// Events has an item after each event of the kernel that may concern a GPU. It may be nil.
	Events <-chan struct{}

	left  int           // looks that still follow the last event
	again chan struct{} // has an item after a change that the Server made
}

// triggerLook has the next look follow at once.
func (s *Schedule) triggerLook() {
	select {
	case s.again <- struct{}{}:
	default:
	}
}

// After an event, looks follow each other quickly for a while: a driver that comes up, or a
// GPU that falls off the bus, makes many events, and a GPU needs several good looks to be
// healthy again, also without an Interval.
const (
	looksAfterEvent = 5
	pauseAfterEvent = time.Second
	gather          = 200 * time.Millisecond // events that come together are one
)

// waitForLook waits for the time of the next look, and reports whether an event is the reason.
// It returns false for ok at the end of the context.
func (s *Schedule) waitForLook(ctx context.Context) (event, ok bool) {
	pause := s.Interval
	if s.left > 0 && (pause == 0 || pause > pauseAfterEvent) {
		pause = pauseAfterEvent
	}
	var due <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return false, false
	case <-due:
		s.left = max(0, s.left-1)
		return false, true
	case <-s.again:
		return true, true
	case <-s.Events:
	}
	s.left = looksAfterEvent - 1
	timer := time.NewTimer(gather)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, false
		case <-s.Events:
		case <-timer.C:
			return true, true
		}
	}
}
