// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAdd: what is measured again replaces what was measured before, and nothing else.
func TestAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.json")
	for _, change := range []func(*Figures){
		func(f *Figures) { f.Starts.Pairs = 7 },
		func(f *Figures) { f.Put(Nodes{Nodes: 300, Pods: 1}) },
		func(f *Figures) { f.Put(Nodes{Nodes: 100, Pods: 2}) },
		func(f *Figures) { f.PutDay(Day{Scheduler: "b"}) },
		func(f *Figures) { f.PutDay(Day{Scheduler: "a"}) },
		func(f *Figures) { f.Put(Nodes{Nodes: 300, Pods: 3}) },
		func(f *Figures) { f.PutDay(Day{Scheduler: "b", Placed: []Place{{1, []int{2}}}}) },
	} {
		if err := Add(path, change); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Figures{
		Nodes: []Nodes{{Nodes: 100, Pods: 2}, {Nodes: 300, Pods: 3}},
		Days:  []Day{{"b", []Place{{1, []int{2}}}}, {"a", nil}}, Starts: Starts{Pairs: 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
