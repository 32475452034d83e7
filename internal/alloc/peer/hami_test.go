// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// hamiRows are rows of HAMi's tests about scores. What the fields mean depends on what a group
// is of.
type hamiRows struct {
	Source string `json:"source"`
	Of     string `json:"of"`     // exclusive, lookup, node or vectors
	Weight int    `json:"weight"` // of the policy, in a row of the whole scheduler
	Cases  []struct {
		Name           string `json:"name"`
		Zones          []int  `json:"zones"`
		Free, Taken    []int
		Annotation     string `json:"annotation"`
		N, Want        int
		Matchings      [3]int `json:"matchings"` // of a quad: 01 and 23, 02 and 13, 03 and 12
		Cross          int    `json:"cross"`
		Scores, Losses []int
	} `json:"cases"`
}

// hamiDecidedOtherwise names the rows that do not hold here.
var hamiDecidedOtherwise = map[string]struct {
	want   int
	reason string
}{
	"OverrideScore, spread": {600000, "section 4: a policy never inverts the score of a node"},
}

func readRows[T any](t *testing.T, file string) (rows []T) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &rows)
	}
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s: %d groups, %v", file, len(rows), err)
	}
	return rows
}

func TestHAMiPublished(t *testing.T) {
	checked := map[string]int{}
	for _, group := range readRows[hamiRows](t, "testdata/hami-score.json") {
		for _, c := range group.Cases {
			checked[group.Of]++
			t.Run(group.Of+"/"+c.Name, func(t *testing.T) {
				want := c.Want
				if other, ok := hamiDecidedOtherwise[c.Name]; ok {
					checked[c.Name]++
					want = other.want
				}
				got := want
				switch group.Of {
				case "exclusive":
					got = HAMiExclusive(c.Zones, c.Free, c.Taken)
					if group.Weight != 0 {
						got *= group.Weight
					}
				case "lookup", "node":
					var table HAMiTable
					if err := json.Unmarshal([]byte(c.Annotation), &table); err != nil {
						t.Fatal(err)
					}
					if got = table[c.N]; group.Of == "node" {
						got = table.NodeScore(c.N)
					}
					if back := table.String(); back != c.Annotation {
						t.Errorf("%s is written as %s", c.Annotation, back)
					}
				case "vectors":
					node := alloctest.Build(8, 2, 0, alloctest.Domains(8, "NODE", "NODE", []int{0, 1, 2, 3}, []int{4, 5, 6, 7}))
					for i, l := range node.Links {
						node.Links[i].GBps = float64(c.Cross) / 10
						if l.Kind == "MX" {
							node.Links[i].GBps = float64(c.Matchings[(l.A^l.B)-1]) / 10
						}
					}
					p, err := alloc.NewWeighted(alloctest.Graph(t, node), link.BandwidthWeights)
					if err != nil {
						t.Fatal(err)
					}
					scores, losses, err := p.Vectors([]int{7, 6, 5, 4, 3, 2, 1, 0})
					if diff := cmp.Diff([][]int{c.Scores, c.Losses}, [][]int{scores, losses}); diff != "" || err != nil {
						t.Errorf("%v (-want +got):\n%s", err, diff)
					}
				default:
					t.Errorf("a group of %q", group.Of)
				}
				if got != want {
					t.Errorf("%s: got %d, want %d", group.Source, got, want)
				}
			})
		}
	}
	for _, of := range []string{"exclusive", "lookup", "node", "vectors"} {
		if checked[of] == 0 {
			t.Errorf("no row of %s", of)
		}
	}
	for name, other := range hamiDecidedOtherwise {
		if checked[name] == 0 {
			t.Errorf("no row %q (%s)", name, other.reason)
		}
	}
}

func TestHAMiTable(t *testing.T) {
	vector := []int{0, 5, -3, 0, 0, 0, 0, 0, 0, 12}
	const text = `{"1":0,"2":5,"3":-3,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"10":12}`
	table := NewHAMiTable(vector)
	if got := table.String(); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
	var back HAMiTable
	if err := json.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(table, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if got := back.NodeScore(11); got != 2000 {
		t.Errorf("a number that is not there: %d", got)
	}
	if got := NewHAMiTable(nil).String(); got != "{}" {
		t.Errorf("nothing free: %s", got)
	}
}

func TestHAMiExclusiveWithoutLinks(t *testing.T) {
	if got := HAMiExclusive([]int{0, 0, -1, -1, 3, 3}, []int{0, 1, 2, 3, 4, 5}, []int{0, 1, 2, 3, 4}); got != -10 {
		t.Errorf("got %d, want the loss of one pair alone", got)
	}
}
