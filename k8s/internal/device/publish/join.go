// SPDX-License-Identifier: Apache-2.0

package publish

import "time"

// The pauses before something is written.
const (
	joinTime   = time.Second // from the first change
	firstRetry = time.Second // after a failure; twice as long after each further one
	lastRetry  = time.Minute
)

// joiner says when to write. The zero joiner has nothing to write.
type joiner struct {
	due    time.Time // zero if nothing has changed since the last write
	failed int       // writes in a row
}

// changed notes a change. What is due already is not put off.
func (j joiner) changed(now time.Time) joiner {
	if j.due.IsZero() {
		j.due = now.Add(joinTime)
	}
	return j
}

// wrote notes a write that began when there were no later changes.
func (j joiner) wrote(err error, now time.Time) joiner {
	if err == nil {
		return joiner{}
	}
	return joiner{due: now.Add(min(firstRetry<<min(j.failed, 6), lastRetry)), failed: j.failed + 1}
}

// isDue reports whether to write now.
func (j joiner) isDue(now time.Time) bool { return !j.due.IsZero() && !now.Before(j.due) }

// earlier returns the earlier of two times of which each may be zero, which is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
