// SPDX-License-Identifier: Apache-2.0

package wording

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 GPUs": Count(0, "GPU"), "1 GPU": Count(1, "GPU"), "2 GPUs": Count(2, "GPU"), "12 processes": Count(12, "process"), "1 process": Count(1, "process"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestList(t *testing.T) {
	for _, tc := range []struct {
		in           []int
		list, ranges string
	}{
		{nil, "", ""},
		{[]int{3}, "3", "3"},
		{[]int{0, 1}, "0,1", "0,1"},
		{[]int{0, 1, 2}, "0,1,2", "0-2"},
		{[]int{0, 2, 3, 4, 5, 7, 8}, "0,2,3,4,5,7,8", "0,2-5,7,8"},
	} {
		if list, ranges := List(tc.in), Ranges(tc.in); list != tc.list || ranges != tc.ranges {
			t.Errorf("%v: %q and %q, want %q and %q", tc.in, list, ranges, tc.list, tc.ranges)
		}
	}
}

func TestSome(t *testing.T) {
	words := []string{"a", "b", "c"}
	for most, want := range map[int]string{1: "a and 2 more", 2: "a, b and 1 more", 3: "a, b, c", 4: "a, b, c"} {
		if got := Some(words, most); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""}, {"abcd", 4, "abcd"}, {"abcde", 4, "a…"}, {"ééé", 6, "ééé"}, {"éééé", 6, "é…"}, {"abcd", 3, "…"},
	} {
		if got := Short(c.text, c.most); got != c.want {
			t.Errorf("Short(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestCause(t *testing.T) {
	inner := &fs.PathError{Op: "openat", Path: "/proc/self/fd/3/x", Err: fs.ErrPermission}
	other := errors.New("no room")
	for _, tc := range []struct{ err, want error }{
		{nil, nil},
		{other, other},
		{inner, fs.ErrPermission},
		{fmt.Errorf("reopen: %w", &fs.PathError{Op: "open", Path: "/x", Err: fmt.Errorf("again: %w", inner)}), fs.ErrPermission},
	} {
		if got := Cause(tc.err); got != tc.want {
			t.Errorf("cause of %v is %v, want %v", tc.err, got, tc.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 300 * time.Millisecond: "300ms", 10 * time.Second: "10s", 10 * time.Minute: "10m", time.Hour: "1h",
		90 * time.Minute: "1h30m", time.Hour + 20*time.Second: "1h0m20s", 130 * time.Second: "2m10s", 20 * time.Hour: "20h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}
