// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"encoding/json"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
	"github.com/metax-ctk/container-toolkit/test/golden"
)

// TestExplanation shows one pick for each component that can decide, in both forms.
func TestExplanation(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		decided string // also the golden file's name
		node    string
		r       Request
	}{
		{"class", "MX quad, PIX quad", Request{N: 4, Free: []int{1, 2, 3, 4, 5, 6, 7}}},
		{"capability", "four pairs", Request{N: 4, Free: []int{2, 3, 4, 5, 7}}},
		{"weight", "cube mesh", Request{N: 4, Free: []int{1, 2, 3, 4, 5, 6, 7}}},
		{"rest", "two quads", Request{N: 1, Free: []int{0, 1, 4}}},
		{"cut", "four pairs", Request{N: 2, Free: []int{0, 2, 3, 6, 7}}},
		{"locality", "mesh over 4 NUMA", Request{N: 2, Free: []int{1, 2, 3, 4, 7}}},
		{"order", "two quads", Request{N: 4, Free: all}},
		{"binpack", "degraded quads", Request{N: 3, Free: []int{0, 1, 2, 3, 5, 6, 7}, Policy: key.Binpack}},
		{"first", "two quads", Request{N: 2, Free: []int{1, 5, 7}, Policy: key.First}},
		{"only", "two quads", Request{N: 8, Free: all}},
	} {
		t.Run(c.decided, func(t *testing.T) {
			c.r.Explain = true
			a, err := New(alloctest.Named(t, c.node)).Pick(c.r)
			if err != nil {
				t.Fatal(err)
			}
			e := a.Explanation
			switch c.decided {
			case "only":
				if e.RunnerUp != nil || e.DecidedBy != 0 {
					t.Errorf("runner-up %v by %v", e.RunnerUp, e.DecidedBy)
				}
			case "binpack":
				if e.DecidedBy != key.ByRest {
					t.Errorf("decided by %v", e.DecidedBy)
				}
			case "first":
				if e.DecidedBy != key.ByOrder {
					t.Errorf("decided by %v", e.DecidedBy)
				}
			default:
				if e.DecidedBy.String() != c.decided {
					t.Errorf("decided by %v", e.DecidedBy)
				}
			}
			golden.Equal(t, "testdata/explain/"+c.decided+".txt", []byte(e.Text(true)))
			form, err := json.MarshalIndent(e, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, "testdata/explain/"+c.decided+".json", append(form, '\n'))
		})
	}
}
