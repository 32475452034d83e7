// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
)

// A look in short: the names of what is here, then after "-" what is still missing, or "none"
// or "unloaded".
func observed(text string) observation {
	here, lacks, _ := strings.Cut(text, " -")
	g := observation{here: strings.Fields(here), fingerprint: text, lacks: lacks}
	switch lacks {
	case "none":
		g.none, g.lacks = discover.ErrNoGPU, ""
	case "unloaded":
		g.driver = noDriver("unloaded")
	}
	return g
}

// watched is a settler of two seconds that sees one look after the other, the last one
// forever, on a clock that nothing but pausing moves.
func watched(known string, looks ...string) (s *settler, seen func() int) {
	var clock time.Time
	n := 0
	return &settler{
		limit: 2 * time.Second, known: strings.Fields(known),
		look: func() (observation, error) {
			n++
			return observed(looks[min(n, len(looks))-1]), nil
		},
		now: func() time.Time { return clock },
		pause: func(_ context.Context, d time.Duration) error {
			clock = clock.Add(d)
			return nil
		},
	}, func() int { return n }
}

func TestSettle(t *testing.T) {
	for name, tc := range map[string]struct {
		known   string
		looks   string // separated by "|"
		partial bool
		want    string // the look that is believed, or a part of the error
		seen    int    // how many looks it took
	}{
		"at rest":                     {"", "a b", false, "a b", 2},
		"coming up":                   {"", "a b -b|a b -b|a b", false, "a b", 4},
		"changing":                    {"", "a|a b|a b c", false, "a b c", 4},
		"never complete":              {"", "a b -no node of b", false, "error: after 2s no node of b; nothing was written", 5},
		"never complete, forced":      {"", "a b -no node of b", true, "a b -no node of b", 5},
		"never at rest":               {"", "a|b|a|b|a|b|a", false, "error: the node kept changing", 5},
		"no GPU":                      {"", " -none", false, "error: no MetaX GPU", 1},
		"no GPU, but there were":      {"a b", " -none", false, "error: no MetaX GPU", 5},
		"a GPU on its way":            {"a", " -none| -none|a", false, "a", 4},
		"no driver":                   {"", "a -unloaded", false, "error: no MetaX driver here", 5},
		"no driver yet":               {"", "a -unloaded|a", false, "a", 3},
		"gone for good":               {"a b c", "a c", false, "a c", 5},
		"gone, all but one":           {"a b c", "a", false, "a", 5},
		"not back yet":                {"a b c", "a|a|a c|a b c", false, "a b c", 5},
		"came and went":               {"a b c", "a c|a b c -b|a c", false, "error: b appeared and disappeared within 2s", 5},
		"gone in the first look only": {"a b", "a|a b", false, "a b", 3},
		"there, then gone":            {"a b", "a b|a", false, "error: b appeared and disappeared", 5},
		"more than before":            {"a", "a b", false, "a b", 2},
		"half up, and fewer":          {"a b c", "a b -b", false, "error: after 2s b", 5},
		"gone at the last moment":     {"a b", "a b -b|a b -b|a b -b|a b -b|a", false, "error: b appeared and disappeared", 5},
	} {
		s, seen := watched(tc.known, strings.Split(tc.looks, "|")...)
		s.partial = tc.partial
		g, err := s.settle(t.Context(), s.now().Add(s.limit))
		got := g.fingerprint
		if err != nil {
			got = "error: " + err.Error()
		}
		if part, isError := strings.CutPrefix(tc.want, "error: "); got != tc.want && !(isError && err != nil && strings.Contains(got, part)) || seen() != tc.seen {
			t.Errorf("%s: %q after %d looks; want %q after %d", name, got, seen(), tc.want, tc.seen)
		}
	}
}

// A change while the specs are made is not missed: each try is a word, what it did.
func TestWhenSettled(t *testing.T) {
	failed := errors.New("failed")
	for name, tc := range map[string]struct {
		looks string
		known string
		fails bool // making the specs fails
		want  string
		err   string
	}{
		"at rest":                       {looks: "a|a|a|a", want: "wrote a"},
		"moved before the writing":      {looks: "a|a|b|b|b|b|b|b", want: "moved, wrote b"},
		"moved, and back":               {looks: "a|a|b|a|a|a|a|a", want: "moved, wrote a"},
		"moved while it was written":    {looks: "a|a|a|b|b|b|b|b", want: "wrote a, wrote b"},
		"fails":                         {looks: "a|a|a|a", fails: true, want: "failed", err: "failed"},
		"fails since it moved":          {looks: "a|a|a|b|b|b|b", fails: true, want: "failed, failed", err: "failed"},
		"gone since, for a moment only": {known: "a b", looks: "a b|a b|a b|a|a|a|a|a|a", want: "wrote a b", err: "b appeared and disappeared"},
	} {
		s, _ := watched(tc.known, strings.Split(tc.looks, "|")...)
		var did []string
		last := ""
		look := s.look
		s.look = func() (observation, error) {
			g, err := look()
			last = g.fingerprint
			return g, err
		}
		err := s.whenSettled(t.Context(), func(still func() error) error {
			if err := still(); err != nil {
				did = append(did, "moved")
				return fmt.Errorf("write: %w", err)
			}
			if tc.fails {
				did = append(did, "failed")
				return failed
			}
			did = append(did, "wrote "+last)
			return nil
		})
		if diff := cmp.Diff(tc.want, strings.Join(did, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: error %v, want %q", name, err, tc.err)
		}
	}

	// A node that never rests long enough: the end comes anyway.
	s, seen := watched("", slices.Repeat([]string{"a", "a", "b"}, 100)...)
	if err := s.whenSettled(t.Context(), func(still func() error) error { return still() }); !errors.Is(err, errMoved) || seen() > 20 {
		t.Errorf("%v after %d looks; want %v", err, seen(), errMoved)
	}

	// Interrupted.
	s, _ = watched("", "a", "b")
	s.pause = func(context.Context, time.Duration) error { return context.Canceled }
	if err := s.whenSettled(t.Context(), func(func() error) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
