// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// TestPlanUnchanged chooses from one plan with different holders, one after another and all at
// once: each choice depends on its holders only.
func TestPlanUnchanged(t *testing.T) {
	node := simulated(t, "c500-8")
	requests := services(t, "a 2", "b 4", "c 1+share", "d [7]")
	requests[0].Had = had(node, usage.Exited, 1, 4)
	p, err := NewPlan(Job{Node: node, Requests: requests, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%+v", *p)
	result := func(used ...int) string {
		holders := []usage.Holder{use(node, "", used...)}
		r, err := p.Preview(lease.Report{Holders: holders})
		return strings.Join(append(r.Warnings, r.Explanation, fmt.Sprint(r.Given, err), chosen(p, holders)), "\n")
	}
	states := [][]int{nil, {4}, {0}, {7}, {1, 2}}
	gpus := []string{
		"[1 4] [0 2 5 6] [3] [7]", "[5 6] [0 1 2 3] [0] [7]", "[1 4] [2 3 5 6] [0] [7]",
		`service "d": GPU 7 is in use by lease 6f1d2c9a04be (metax-ctk ps)`, "cannot get 6 GPUs: only 5 of 8 are free (metax-ctk ps)",
	}
	want := map[string]string{}
	for i, used := range states {
		want[fmt.Sprint(used)] = result(used...)
		if got := chosen(p, []usage.Holder{use(node, "", used...)}); gpus[i] != got {
			t.Errorf("with %v in use: %s, want %s", used, got, gpus[i])
		}
	}
	for _, used := range states {
		if d := cmp.Diff(want[fmt.Sprint(used)], result(used...)); d != "" {
			t.Errorf("with %v in use, again (-first +again):\n%s", used, d)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		for _, used := range states {
			all.Go(func() {
				if d := cmp.Diff(want[fmt.Sprint(used)], result(used...)); d != "" {
					t.Errorf("with %v in use, at once (-first +again):\n%s", used, d)
				}
			})
		}
	}
	all.Wait()
	if after := fmt.Sprintf("%+v", *p); after != before {
		t.Errorf("the plan was\n%s\nand is\n%s", before, after)
	}
}
