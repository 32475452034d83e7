// SPDX-License-Identifier: Apache-2.0

package report

import "time"

// Patience is the longest time after which an agent repeats an attempt that failed.
const Patience = 5 * time.Minute

// Failure is an attempt that failed and is not repeated at once. A K says what was attempted.
type Failure[K comparable] struct {
	what   K
	report Report
	wait   time.Duration
	again  time.Time
}

// Add records that an attempt failed. It can be repeated after the time first, then after
// twice the time before, up to Patience.
func (f *Failure[K]) Add(what K, r Report, now time.Time, first time.Duration) {
	wait := first
	if what == f.what {
		wait = max(first, 2*f.wait)
	}
	wait = min(wait, Patience)
	*f = Failure[K]{what: what, report: r, wait: wait, again: now.Add(wait)}
}

// Report returns the report of the last failure, and whether it is too early to repeat that
// attempt.
func (f *Failure[K]) Report(what K, now time.Time) (r Report, early bool) {
	return f.report, what == f.what && now.Before(f.again)
}
