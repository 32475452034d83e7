// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// looks are sequences in which each GPU has a letter: "." in order, "x" a problem of the
// vendor, "n" no device nodes, "-" not there. The first GPU is at bus 1. A look with "!"
// failed.
func look(text string) Look {
	var l Look
	text, failed := strings.CutSuffix(text, "!")
	if failed {
		l.Failed = "no answer"
	}
	for i, letter := range text {
		r := Reading{GPU: GPU{Index: i, BDF: gpu.BDF{Bus: uint8(i + 1)}}}
		switch letter {
		case '-':
			continue
		case 'x':
			r.Problems = []Problem{{Code: Vendor, Text: "broken"}}
		case '7':
			r.Problems = []Problem{{Code: "vendor-7", Text: "broken"}}
		case 'n':
			r.Problems = []Problem{{Code: NoDeviceNodes, Text: "no nodes"}, {Code: Vendor, Text: "broken"}}
		}
		l.Readings = append(l.Readings, r)
	}
	return l
}

// states is a letter for the health of each GPU: h, u, or "?".
func states(s State) string {
	var text strings.Builder
	for _, c := range s.GPUs {
		text.WriteString(map[string]string{Healthy: "h", Unhealthy: "u", Unknown: "?"}[c.Health])
	}
	return text.String()
}

func TestNext(t *testing.T) {
	slow := Rules{Bad: 3, Good: 2, Failed: 2}
	for _, test := range []struct {
		name        string
		rules       Rules
		looks, want string // words
	}{
		{"the first look decides", DefaultRules, ".x", "hu"},
		{"bad at once, good after three", DefaultRules, ".. x. .. .. ..", "hh uh uh uh hh"},
		{"a recovery starts anew", DefaultRules, ". x . . x . . .", "h u u u u u u h"},
		{"bad after three", slow, ". x x . x x x . .", "h h h h h h u u h"},
		{"a new GPU is bad at once", slow, "x", "u"},
		{"a GPU that goes and comes back", DefaultRules, "... .-. ... ... ...", "hhh huh huh huh hhh"},
		{"a GPU that comes later", DefaultRules, ". .. .x", "h hh hu"},
		{"all are gone", DefaultRules, ".. --", "hh uu"},
		{"the first look failed", DefaultRules, ".x! .x .x .x", "?u ?u ?u hu"},
		{"the first look failed without a GPU", DefaultRules, "! .x", " hu"},
		{"healthy outlives two failed looks", DefaultRules, ".. ! ! .. ! ! !", "hh hh hh hh hh hh ??"},
		{"unknown recovers like unhealthy", slow, ". ! ! . .", "h h ? ? h"},
		{"a failed look makes nobody healthy", slow, "x . ! . .", "u u u u h"},
		{"a failed look still finds problems", DefaultRules, ".. .x!", "hh hu"},
		{"unhealthy stays so when looks fail", DefaultRules, "x ! ! ! !", "u u u u u"},
		{"failed looks do not forget bad ones", slow, ". x ! x x", "h h h h u"},
		{"an ignored code", Rules{Bad: 1, Good: 1, Failed: 1, Ignore: []string{Vendor}}, ".x .n", "hh hu"},
		{"an ignored code with those below it", Rules{Bad: 1, Good: 1, Failed: 1, Ignore: []string{Vendor}}, ".7", "hh"},
		{"one ignored number of the vendor", Rules{Bad: 1, Good: 1, Failed: 1, Ignore: []string{"vendor-7", "vendor-"}}, "7x", "hu"},
		{"a missing GPU that is ignored", Rules{Bad: 1, Good: 1, Failed: 1, Ignore: []string{Missing}}, ".. .-", "hh hh"},
		{"an excluded GPU", Rules{Bad: 1, Good: 1, Failed: 1, Exclude: []string{"0000:02:00.0"}}, ".x. .-x", "hh hu"},
		{"no rules", Rules{}, ". x . !", "h u h ?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			var s State
			for _, l := range strings.Fields(test.looks) {
				s, _ = s.Next(look(l), test.rules)
				got = append(got, states(s))
			}
			if is := strings.Join(got, " "); is != test.want {
				t.Errorf("got  %q\nwant %q", is, test.want)
			}
		})
	}
}

// TestChanges has every change once, with the reason, and the generation since when.
func TestChanges(t *testing.T) {
	var s State
	var got []string
	for _, l := range strings.Fields(".. .x .n .n .! .- .! .! .!") {
		var changes []Change
		s, changes = s.Next(look(l), DefaultRules)
		for _, c := range changes {
			got = append(got, fmt.Sprintf("%d: %s (%d) %s -> %s %s %q since %d", s.Generation, c.Key(), c.Index, c.Before, c.Health, c.Code, c.Reason, c.Since))
		}
	}
	want := []string{
		`1: 0000:01:00.0 (0)  -> healthy  "" since 1`,
		`1: 0000:02:00.0 (1)  -> healthy  "" since 1`,
		`2: 0000:02:00.0 (1) healthy -> unhealthy vendor "broken" since 2`,
		`3: 0000:02:00.0 (1) unhealthy -> unhealthy no-device-nodes "no nodes" since 2`,
		`6: 0000:02:00.0 (-1) unhealthy -> unhealthy missing "it is gone from the PCI bus" since 2`,
		`9: 0000:01:00.0 (0) healthy -> unknown  "no answer" since 9`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.AllHealthy() || s.FailedLooks != 3 || s.Failed != "no answer" {
		t.Errorf("state is %+v", s)
	}
}

// TestNextIsPure: a state can be continued twice, with the same result.
func TestNextIsPure(t *testing.T) {
	start, _ := State{}.Next(look(".x"), DefaultRules)
	first, _ := start.Next(look("x."), DefaultRules)
	other, _ := start.Next(look("!"), DefaultRules)
	again, _ := start.Next(look("x."), DefaultRules)
	if diff := cmp.Diff(first, again, cmp.AllowUnexported(Condition{})); diff != "" || states(other) != "hu" || states(start) != "hu" {
		t.Errorf("%s %s %s", states(start), states(other), diff)
	}
}

func TestKey(t *testing.T) {
	l := Look{Readings: []Reading{{GPU: GPU{Index: 0, UUID: "GPU-a", BDF: gpu.BDF{Bus: 1}}}, {GPU: GPU{Index: 1}}}}
	for name, want := range map[string]string{"0": "0000:01:00.0", "gpu-A": "0000:01:00.0", "0000:01:00.0": "0000:01:00.0", "1": "1", "2": "", "": ""} {
		if got, ok := l.Key(name); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %t", name, got, ok)
		}
	}
}

func TestIsCode(t *testing.T) {
	for code, want := range map[string]bool{
		Vendor: true, "vendor-7": true, Missing: true, "vendor-": false, "vendor-x": false, "vendr": false, "pci": false, "": false,
	} {
		if got := IsCode(code); got != want {
			t.Errorf("%q: %v, want %v", code, got, want)
		}
	}
}

func TestFromNode(t *testing.T) {
	nodes := []string{"/dev/dri/card1"}
	got := FromNode(gpu.Node{GPUs: []gpu.GPU{
		{Index: 0, Healthy: true}, {Index: 1, Nodes: nodes}, {Index: 2}, {Index: 3, Mode: gpu.ModeVFIO},
	}})
	var codes []string
	for _, r := range got.Readings {
		for _, p := range append(r.Problems, Problem{}) {
			codes = append(codes, p.Code)
		}
	}
	if diff := cmp.Diff([]string{"", Vendor, "", NoDeviceNodes, "", VFIO, ""}, codes); diff != "" {
		t.Error(diff)
	}
}
