// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line string
		room int
		want []string
	}{
		{"", 10, []string{""}},
		{"one two three", 20, []string{"one two three"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"  one two three", 10, []string{"  one two", "  three"}},
		{"  → × → × →", 7, []string{"  → × →", "  × →"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"      deep", 4, []string{"", "  de", "  ep"}},
		{"abc", 0, []string{"ab", "c"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.line, c.room)); diff != "" {
			t.Errorf("%q in %d (-want +got):\n%s", c.line, c.room, diff)
		}
	}
}

func TestColumnsOf(t *testing.T) {
	got := columnsOf("  → class   MX    NODE of all")
	want := []word{{2, "→ class"}, {12, "MX"}, {18, "NODE of all"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(word{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNote looks for the note in each picture, and for the runner-up's mark.
func TestNote(t *testing.T) {
	v := views(t)["c500-8"]
	v.Picked, v.RunnerUp, v.Note = []int{0, 1}, []int{4, 5}, []string{"chosen because", "  class   MX   NODE", strings.Repeat("word ", 60)}
	for name, text := range map[string]string{"matrix": render(t, Matrix, v), "tree": render(t, Tree, v)} {
		if !strings.Contains(text, "\nchosen because\n  class   MX   NODE\n") || !strings.Contains(text, "runner-up\n") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	root := picture(t, v)
	width := root.int(t, "width")
	seen := map[string]int{}
	root.walk(func(e element) {
		if e.XMLName.Local == "text" {
			seen[e.Text] = e.int(t, "x")
			if right := e.int(t, "x") + textWidth(e.Text, noteSize); strings.HasPrefix(e.Text, "word") && right > width-margin+8 {
				t.Errorf("%q ends at %d of %d", e.Text, right, width)
			}
		}
	})
	if seen["class"] >= seen["MX"] || seen["MX"] >= seen["NODE"] || seen["chosen because"] != margin {
		t.Errorf("columns at %v", seen)
	}
	v.RunnerUp = []int{99}
	if err := SVG(&strings.Builder{}, v); err == nil {
		t.Error("a runner-up that is not there")
	}
}
