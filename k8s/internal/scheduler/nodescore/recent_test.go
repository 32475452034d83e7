// SPDX-License-Identifier: Apache-2.0

package nodescore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func stateOf(generation int64, free, unhealthy, outside []int) protocol.NodeState {
	return protocol.NodeState{Generation: generation, GPUs: 8, Free: free, Unhealthy: unhealthy, Outside: outside}
}

func TestRecent(t *testing.T) {
	before := stateOf(1, all8, nil, nil)
	for name, c := range map[string]struct {
		pods  []int // their GPUs
		after protocol.NodeState
		want  []int // the GPUs that are not counted yet
	}{
		"the same state":         {[]int{2}, before, []int{2}},
		"the same generation":    {[]int{2}, stateOf(1, []int{2}, nil, nil), []int{2}},
		"counted":                {[]int{2}, stateOf(2, []int{2, 3, 4, 5, 6, 7}, nil, nil), nil},
		"the first is counted":   {[]int{2, 1}, stateOf(2, []int{2, 3, 4, 5, 6, 7}, nil, nil), []int{1}},
		"a part of it":           {[]int{4, 1}, stateOf(2, []int{1, 2, 3, 4, 5, 6, 7}, nil, nil), []int{3, 1}},
		"all":                    {[]int{4, 1}, stateOf(2, []int{5, 6, 7}, nil, nil), nil},
		"more than all":          {[]int{1}, stateOf(2, []int{5, 6, 7}, nil, nil), nil},
		"something else changed": {[]int{2}, stateOf(2, []int{0, 1, 2, 3, 4, 5}, []int{6}, []int{7}), []int{2}},
		"an older generation":    {[]int{2}, stateOf(0, []int{2, 3, 4, 5, 6, 7}, nil, nil), nil}, // the plugin began anew
		"another number of GPUs": {[]int{2}, protocol.NodeState{Generation: 2, GPUs: 4, Free: []int{0, 1}}, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			var p Recent
			for i, n := range c.pods {
				p = p.Place(string(rune('a'+i)), Request{GPUs: n}, start)
			}
			var got []int
			for _, o := range p.Count(before, c.after) {
				got = append(got, o.request.GPUs)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecentIsAValue(t *testing.T) {
	a := Recent(nil).Place("a", Request{GPUs: 2}, start)
	b := a.Place("b", Request{GPUs: 3}, start.Add(time.Second))
	c := a.Place("c", Request{GPUs: 4}, start)
	for _, row := range []struct {
		name string
		p    Recent
		want int
	}{
		{"one", a, 2},
		{"two", b, 5},
		{"another second", c, 6},
		{"again", b.Place("b", Request{GPUs: 3}, start), 5},
		{"no GPU", a.Place("d", Request{}, start), 2},
		{"ended", b.Without("a"), 3},
		{"unknown", b.Without("x"), 5},
		{"in time", b.At(start.Add(Patience)), 5},
		{"too late", b.At(start.Add(Patience + 1)), 3},
		{"both too late", b.At(start.Add(Patience + 2*time.Second)), 0},
		{"counted", b.Count(stateOf(1, all8, nil, nil), stateOf(2, nil, nil, nil)), 0},
		{"as it was", b, 5},
	} {
		if got := row.p.GPUs(); got != row.want {
			t.Errorf("%s: %d GPUs, want %d", row.name, got, row.want)
		}
	}
}
