// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"
)

// TestFailure waits longer each time, up to Patience; for another attempt it does not wait.
func TestFailure(t *testing.T) {
	var f Failure[string]
	now, r := time.Unix(0, 0), Report{Reason: "LoadFailed"}
	if _, early := f.Report("", now); early {
		t.Error("nothing failed, and it waits")
	}
	for _, wait := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, Patience, Patience} {
		f.Add("a", r, now, time.Minute)
		if got, early := f.Report("a", now.Add(wait-1)); !early || got != r {
			t.Errorf("before %s: %+v, %t", wait, got, early)
		}
		if _, early := f.Report("b", now); early {
			t.Error("another attempt waits")
		}
		now = now.Add(wait)
		if _, early := f.Report("a", now); early {
			t.Errorf("after %s it waits", wait)
		}
	}
	f.Add("b", r, now, time.Minute)
	if _, early := f.Report("b", now.Add(time.Minute)); early {
		t.Error("another attempt waits as long as the one before")
	}
}
