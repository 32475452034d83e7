// SPDX-License-Identifier: Apache-2.0

package gpu

import "testing"

// TestLoaded: an idle GPU, with what the driver itself takes of its memory, has no load.
func TestLoaded(t *testing.T) {
	at := func(utilization, used, total int) Reading {
		var r Reading
		for _, v := range []struct {
			value int
			field **int
		}{{utilization, &r.UtilizationPercent}, {used, &r.MemoryUsedMiB}, {total, &r.MemoryTotalMiB}} {
			if v.value >= 0 {
				*v.field = &v.value
			}
		}
		return r
	}
	const none = -1
	for name, c := range map[string]struct {
		reading Reading
		want    bool
	}{
		"nothing reported":         {at(none, none, none), false},
		"an idle N260":             {at(0, 666, 65536), false},
		"an idle C500":             {at(0, 826, 65536), false},
		"an idle C550":             {at(0, 858, 65536), false},
		"without utilisation":      {at(none, 858, 65536), false},
		"utilisation":              {at(1, 826, 65536), true},
		"utilisation alone":        {at(7, none, none), true},
		"memory of a job":          {at(0, 1025, 65536), true},
		"memory without the total": {at(none, 1025, none), true},
		"a GPU with more memory":   {at(0, 2048, 131072), false},
		"a job on it":              {at(0, 2049, 131072), true},
		"a GPU with less memory":   {at(0, 1024, 16384), false},
	} {
		if got := c.reading.Loaded(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
