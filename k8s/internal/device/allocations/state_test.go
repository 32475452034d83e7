// SPDX-License-Identifier: Apache-2.0

package allocations

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func ids(text string) []string { return strings.Fields(text) }

func container(text string) Container {
	pod, name, _ := strings.Cut(text, "/")
	return Container{UID: "uid-" + pod, Namespace: "team", Pod: pod, Name: name}
}

// listed is "pod/container a b": what the kubelet knows, which has no UID.
func listed(lines ...string) (all []Listed) {
	for _, line := range lines {
		words := strings.Fields(line)
		c := container(words[0])
		c.UID = ""
		all = append(all, Listed{c, words[1:]})
	}
	return all
}

// wanted is "pod/container 2", with "admitted" behind it if its pod is.
func wanted(lines ...string) []Wanted {
	all := []Wanted{}
	for _, line := range lines {
		var name, admitted string
		var n int
		fmt.Sscan(line, &name, &n, &admitted)
		all = append(all, Wanted{container(name), n, admitted == "admitted"})
	}
	return all
}

// show is "pod/container a b" or "? a b" for each Entry.
func show(s State) (lines []string) {
	for _, e := range s.Entries {
		owner := "?"
		if e.For != nil {
			owner = e.For.Pod + "/" + e.For.Name
		}
		lines = append(lines, owner+" "+strings.Join(e.IDs, " "))
	}
	return lines
}

func entries(lines ...string) (s State) {
	for _, line := range lines {
		words := strings.Fields(line)
		e := Entry{IDs: words[1:], At: start}
		if words[0] != "?" {
			c := container(words[0])
			e.For = &c
		}
		s.Entries = append(s.Entries, e)
	}
	return s
}

func TestAdd(t *testing.T) {
	for _, test := range []struct {
		name   string
		before []string
		add    string
		want   []string
	}{
		{"the first", nil, "? b a", []string{"? a b"}},
		{"other devices", []string{"? a b"}, "? c", []string{"? a b", "? c"}},
		{"given again", []string{"? a b"}, "p/c a b", []string{"p/c a b"}},
		{"an init container hands on two of four", []string{"p/init a b c d"}, "p/main b c", []string{"p/init a d", "p/main b c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := entries(test.before...)
			got := before.Add(entries(test.add).Entries[0])
			if diff := cmp.Diff(test.want, show(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(entries(test.before...), before); diff != "" {
				t.Error("the State before has changed: " + diff)
			}
		})
	}
}

func TestSettle(t *testing.T) {
	for _, test := range []struct {
		name   string
		before []string
		listed []Listed
		pods   []Wanted // nil: not known
		late   bool     // after Grace
		want   []string
	}{
		{"young, nobody knows it", []string{"? a"}, nil, wanted(), false, []string{"? a"}},
		{"old, nobody knows it", []string{"? a"}, nil, wanted(), true, nil},
		{"old, the API server is away", []string{"? a"}, nil, nil, true, []string{"? a"}},
		{"the kubelet lists it", []string{"? a b"}, listed("p/main a b"), wanted("p/main 2"), true, []string{"p/main a b"}},
		{"an init container has more", []string{"? a b c d"}, listed("p/main b c"), wanted("p/init 4", "p/main 2"), true, []string{"p/main a b c d"}},
		{"its init phase, not listed", []string{"p/init a b"}, nil, wanted("p/init 2"), true, []string{"p/init a b"}},
		{"its pod has ended", []string{"p/main a"}, nil, wanted("q/main 1"), true, nil},
		{"a container of that count waits", []string{"? a b"}, nil, wanted("p/main 2"), true, []string{"? a b"}},
		{"those of that count are served", []string{"? a b"}, listed("p/main c d"), wanted("p/main 2"), true, nil},
		{"the only one that has so many", []string{"? a", "? b c"}, nil, wanted("p/main 1 admitted", "q/main 1"), false, []string{"p/main a", "? b c"}},
		{"two have so many", []string{"? a"}, nil, wanted("p/main 1 admitted", "q/main 1 admitted"), false, []string{"? a"}},
		{"two answers of so many", []string{"? a", "? b"}, nil, wanted("p/main 1 admitted"), false, []string{"? a", "? b"}},
		{"the other has its own answer", []string{"? a", "q/main b"}, nil, wanted("p/main 1 admitted", "q/main 1 admitted"), false, []string{"p/main a", "q/main b"}},
		{"its init container has handed on", []string{"? a"}, listed("p/main b"), wanted("p/init 1 admitted", "p/main 1 admitted"), false, []string{"? a"}},
		{"a wrong guess is corrected", []string{"p/main a b"}, listed("q/main a b"), wanted("p/main 2", "q/main 2"), true, []string{"q/main a b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := start.Add(time.Second)
			if test.late {
				now = start.Add(Grace)
			}
			got := entries(test.before...).Settle(test.listed, test.pods, now)
			if diff := cmp.Diff(test.want, show(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An Entry of a pod that the API server knew does not outlive the pod, also if it is young: on
// a mixed node its lease keeps others from the GPUs. Until the kubelet has stopped listing the
// GPUs it stays.
func TestSettleYoungPodThatEnded(t *testing.T) {
	known := entries("? a").Settle(listed("p/main a"), wanted("p/main 1"), start)
	if got := known.Settle(listed("p/main a"), wanted(), start); len(got.Entries) != 1 {
		t.Error("the kubelet still lists it, and it is gone")
	}
	if got := known.Settle(nil, wanted(), start); len(got.Entries) != 0 {
		t.Errorf("kept %v", show(got))
	}
	if got := entries("? a").Settle(listed("p/main a"), wanted(), start).Settle(nil, wanted(), start); len(got.Entries) != 1 {
		t.Error("the API server may not know the pod yet, and its devices are free")
	}
}

// The kubelet lists no container that has ended before it is asked.
func TestSettleShortPod(t *testing.T) {
	short := entries("? a").Settle(nil, wanted("p/main 1 admitted"), start)
	if got := short.Settle(nil, wanted(), start); len(got.Entries) != 0 {
		t.Errorf("kept %v of a pod that has ended", show(got))
	}
}

func TestUses(t *testing.T) {
	got := entries("? b a", "p/main c").Uses(listed("p/main c", "q/main d a"))
	want := []Listed{{IDs: ids("a b")}, {container("p/main"), ids("c")}, listed("q/main d")[0]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A pod of a StatefulSet that follows has the same name and another UID.
func TestSettleNextPodOfTheName(t *testing.T) {
	next := wanted("p/main 1")
	next[0].UID = "uid-next"
	known := entries("? a").Settle(listed("p/main a"), wanted("p/main 1"), start)
	for _, s := range []State{entries("p/main a"), known} {
		if got := s.Settle(nil, next, start.Add(Grace)); len(got.Entries) != 0 {
			t.Errorf("kept %v for another pod", show(got))
		}
	}
}

func TestInUse(t *testing.T) {
	got := entries("? b a", "p/main c").InUse(listed("p/main c", "q/main d"))
	if diff := cmp.Diff(ids("a b c d"), got); diff != "" {
		t.Error(diff)
	}
}

func TestWaiting(t *testing.T) {
	for _, test := range []struct {
		name    string
		entries []string
		listed  []Listed
		pods    []Wanted
		want    []string
		unnamed int
	}{
		{"one waits", nil, nil, wanted("p/main 2"), []string{"p/main"}, 0},
		{"served by our record", []string{"p/main a b"}, nil, wanted("p/main 2", "q/main 2"), []string{"q/main"}, 0},
		{"served by the kubelet's list", nil, listed("p/main a b"), wanted("p/main 2", "q/main 2"), []string{"q/main"}, 0},
		{"another container of a served pod", []string{"p/init a b"}, nil, wanted("p/init 2", "p/main 2"), []string{"p/main"}, 0},
		{"an answer for nobody knows whom", []string{"? c d e", "? a b"}, nil, wanted("p/main 2"), []string{"p/main"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			waiting, unnamed := entries(test.entries...).Waiting(test.listed, test.pods)
			var got []string
			for _, w := range waiting {
				got = append(got, w.Pod+"/"+w.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || unnamed != test.unnamed {
				t.Errorf("unnamed is %d, want %d; %s", unnamed, test.unnamed, diff)
			}
		})
	}
}
