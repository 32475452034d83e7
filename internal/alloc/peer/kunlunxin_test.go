// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// kunlunxinRows are rows of Kunlunxin's tables, of a node with two wings of four, and of the
// tests of HAMi's copy. What the fields mean depends on what a group is of.
type kunlunxinRows struct {
	Source string `json:"source"`
	Of     string `json:"of"` // jobs, change or table
	HAMi   bool   `json:"hami"`
	Cases  []struct {
		Name          string `json:"name"`
		Used          []int  `json:"used"`
		Before, After []int  // GPUs in use
		Jobs          int    `json:"jobs"`
		Want          int    `json:"want"`
	} `json:"cases"`
}

// kunlunxinDecidedOtherwise names the rows that do not hold here.
var kunlunxinDecidedOtherwise = map[string]struct {
	want   int
	reason string
}{
	"calcscore of -2": {4000, "HAMi's default for what Kunlunxin's table leaves out; a job that saves two is not worse than one that saves one"},
}

func TestKunlunxinPublished(t *testing.T) {
	g := alloctest.Named(t, "two quads")
	root, _ := hierarchy.New(link.ByClass(g))
	p := alloc.New(g)
	jobs := func(used []int) int {
		return root.Jobs(func(gpu int) bool { return !slices.Contains(used, gpu) })
	}
	checked := map[string]int{}
	for _, group := range readRows[kunlunxinRows](t, "testdata/kunlunxin-score.json") {
		score := KunlunxinScore
		if group.HAMi {
			score = HAMiKunlunxinScore
		}
		for _, c := range group.Cases {
			checked[group.Of]++
			t.Run(group.Of+"/"+c.Name, func(t *testing.T) {
				want := c.Want
				if other, ok := kunlunxinDecidedOtherwise[c.Name]; ok {
					checked[c.Name]++
					want = other.want
				}
				got := want
				switch group.Of {
				case "jobs":
					got = jobs(c.Used)
				case "change":
					change := jobs(c.After) - jobs(c.Before)
					if change != c.Jobs {
						t.Errorf("%s: %+d jobs, want %+d", group.Source, change, c.Jobs)
					}
					got = score(change)
					free, taken := []int{}, []int{}
					for i := range g.Len() {
						if !slices.Contains(c.Before, i) {
							free = append(free, i)
							if slices.Contains(c.After, i) {
								taken = append(taken, i)
							}
						}
					}
					if len(c.Before)+len(taken) != len(c.After) {
						return // two states, of which neither leads to the other
					}
					a, err := p.Pick(alloc.Request{N: len(taken), Free: free, Required: taken, Policy: key.MTF, Explain: true})
					if err != nil || a.Explanation.Chosen.Jobs != c.Jobs {
						t.Errorf("%s: %v, explained with %+d jobs, want %+d", group.Source, err, a.Explanation.Chosen.Jobs, c.Jobs)
					}
				case "table":
					got = score(c.Jobs)
				default:
					t.Errorf("a group of %q", group.Of)
				}
				if got != want {
					t.Errorf("%s: got %d, want %d", group.Source, got, want)
				}
			})
		}
	}
	for _, of := range []string{"jobs", "change", "table"} {
		if checked[of] == 0 {
			t.Errorf("no row of %s", of)
		}
	}
	for name, other := range kunlunxinDecidedOtherwise {
		if checked[name] == 0 {
			t.Errorf("no row %q (%s)", name, other.reason)
		}
	}
}

// TestKunlunxinSavesTwo shows that the case that the table leaves out exists.
func TestKunlunxinSavesTwo(t *testing.T) {
	p := alloc.New(alloctest.Named(t, "two quads"))
	a, err := p.Pick(alloc.Request{N: 2, Free: []int{0, 1, 2, 4, 5, 6}, Policy: key.MTF, Explain: true})
	if err != nil || a.Explanation.Chosen.Jobs != -2 {
		t.Fatalf("%+v, %v", a, err)
	}
	if diff := cmp.Diff([]int{3000, 4000}, []int{KunlunxinScore(-2), HAMiKunlunxinScore(-2)}); diff != "" {
		t.Error(diff)
	}
}
