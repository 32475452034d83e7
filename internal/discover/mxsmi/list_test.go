// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// sample returns the text of a file in testdata. It is real output unless its first
// lines say otherwise.
func sample(t testing.TB, name string) string {
	t.Helper()
	return testfile.Text(t, filepath.Join("testdata", name))
}

func TestParseListSample(t *testing.T) {
	got, err := ParseList(sample(t, "list.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := List{
		GPUs: []Listed{
			{0, "MXC500", gputest.BDF(t, "0000:08:00.0"), "Available", "GPU-e702f06b-bbd6-bc06-5196-90a5554a24ba"},
			{7, "MXC500", gputest.BDF(t, "0000:3c:00.0"), "Available", "GPU-0e715b45-bcef-1500-e2db-752724095700"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseList(t *testing.T) {
	a, b := gputest.BDF(t, "0000:08:00.0"), gputest.BDF(t, "0000:09:00.0")
	for _, test := range []struct {
		name, text string
		want       []Listed
		warnings   []string // a part of each
	}{
		{
			"blanks, tabs and carriage returns", " \tGPU#0\tMXC500 0000:08:00.0\tAvailable(UUID:\tGPU-a )\r\n",
			[]Listed{{0, "MXC500", a, "Available", "GPU-a"}},
			nil,
		},
		{
			"upper-case address", "GPU#0 MXC500 0000:0E:00.0 Available (UUID: GPU-a)",
			[]Listed{{0, "MXC500", gputest.BDF(t, "0000:0e:00.0"), "Available", "GPU-a"}},
			nil,
		},
		{
			"eight digits of domain", "GPU#0 MXC500 00000000:0e:00.0 Available (UUID: GPU-a)",
			[]Listed{{0, "MXC500", gputest.BDF(t, "0000:0e:00.0"), "Available", "GPU-a"}},
			nil,
		},
		{
			"sliced GPUs are apart", "GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a)\n  SGPU#0 GPU#0 (UUID: GPU-a)",
			[]Listed{{0, "MXC500", a, "Available", "GPU-a"}},
			nil,
		},
		{
			"no state", "GPU#0 MXC500 0000:08:00.0 (UUID: GPU-a)",
			[]Listed{{0, "MXC500", a, "", "GPU-a"}},
			nil,
		},
		{
			"unavailable", "GPU#0 MXC500 0000:08:00.0 Unavailable (UUID: GPU-a)",
			[]Listed{{0, "MXC500", a, "Unavailable", "GPU-a"}},
			nil,
		},
		{
			"unavailable in other words", "GPU#0 MXC500 0000:08:00.0 Not Available(MetaX Sysfs File Unaccessible)",
			[]Listed{{0, "MXC500", a, "Not Available(MetaX Sysfs File Unaccessible)", ""}},
			[]string{`has the unknown state "Not Available(MetaX Sysfs File Unaccessible)" and counts as unhealthy`, "GPU 0000:08:00.0 has no UUID"},
		},
		{
			"no address", "GPU#0 MXC500 Available (UUID: GPU-a)",
			nil,
			[]string{"line 1: ignored a GPU: GPU#0 has no PCI address"},
		},
		{
			"no model", "GPU#0 0000:08:00.0 Available (UUID: GPU-a)",
			[]Listed{{0, "", a, "Available", "GPU-a"}},
			[]string{`ignored the model name ""`},
		},
		{
			"index is no number", "GPU#-1 MXC500 0000:08:00.0 Available (UUID: GPU-a)\nGPU#1e9 MXC500 0000:08:00.0 Available (UUID: GPU-a)",
			nil,
			[]string{`line 1: ignored a GPU: "GPU#-1"`, `line 2: ignored a GPU: "GPU#1e9"`},
		},
		{
			"UUID with a control character", "GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a\x1b[2J)",
			[]Listed{{0, "MXC500", a, "Available", ""}},
			[]string{`ignored the UUID of GPU 0000:08:00.0: parse "GPU-a\x1b[2J"`},
		},
		{
			"UUID ended by a control character", "GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a\v)",
			[]Listed{{0, "MXC500", a, "Available", ""}},
			[]string{`parse "GPU-a\v"`},
		},
		{
			"UUID with a newline", "GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a\nb)",
			[]Listed{{0, "MXC500", a, "Available", ""}},
			[]string{`" GPU-a" does not end in a closing parenthesis`},
		},
		{
			"UUID with a bracket", "GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a) (UUID: GPU-b)",
			[]Listed{{0, "MXC500", a, "Available", ""}},
			[]string{"ignored the UUID of GPU 0000:08:00.0"},
		},
		{
			"something behind the UUID", "GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a) DIE1",
			[]Listed{{0, "MXC500", a, "Available", ""}},
			[]string{"ignored the UUID of GPU 0000:08:00.0"},
		},
		{
			"one UUID on two GPUs", "GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a)\nGPU#1 MXC500 0000:09:00.0 Available (UUID: GPU-A)",
			[]Listed{{0, "MXC500", a, "Available", ""}, {1, "MXC500", b, "Available", ""}},
			[]string{"ignored the UUID GPU-a: GPUs 0000:08:00.0 and 0000:09:00.0 share it"},
		},
		{
			"no UUID on two GPUs", "GPU#0 MXC500 0000:08:00.0 Available\nGPU#1 MXC500 0000:09:00.0 Available",
			[]Listed{{0, "MXC500", a, "Available", ""}, {1, "MXC500", b, "Available", ""}},
			[]string{"0000:08:00.0 has no UUID", "0000:09:00.0 has no UUID"},
		},
		{
			"one address twice", "GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a)\nGPU#1 MXC500 0000:08:00.0 Available (UUID: GPU-b)\nGPU#2 MXC500 0000:09:00.0 Available (UUID: GPU-c)",
			[]Listed{{2, "MXC500", b, "Available", "GPU-c"}},
			[]string{"ignored GPU#0 0000:08:00.0: its PCI address is listed 2 times", "ignored GPU#1"},
		},
		{
			"one index twice", "GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a)\nGPU#0 MXC500 0000:09:00.0 Available (UUID: GPU-b)",
			nil,
			[]string{"ignored GPU#0 0000:08:00.0: its index is listed 2 times", "ignored GPU#0 0000:09:00.0"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseList(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.GPUs) == 0 {
				got.GPUs = nil
			}
			if diff := cmp.Diff(test.want, got.GPUs); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, test.warnings, got.Warnings)
		})
	}
}

func TestParseListSliced(t *testing.T) {
	got, err := ParseList("GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a)\n  SGPU#0 GPU#0 half (UUID: GPU-b)\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.GPUs) != 1 || len(got.Warnings) > 0 {
		t.Errorf("got %+v, want the whole GPU alone", got)
	}
}

func TestListedAvailable(t *testing.T) {
	for state, want := range map[string]bool{"": true, "Available": true, "Unavailable": false, "available": false, "Not Available": false} {
		if got := (Listed{State: state}).Available(); got != want {
			t.Errorf("state %q: available is %v, want %v", state, got, want)
		}
	}
}

func TestParseListNothing(t *testing.T) {
	for _, text := range []string{"", "mx-smi  version: 2.2.9\n", "No devices were found\n", "SGPU#0 GPU#0\n"} {
		if got, err := ParseList(text); err == nil {
			t.Errorf("%q gives %v, want an error", text, got)
		}
	}
}

func FuzzParseList(f *testing.F) {
	f.Add(sample(f, "list.txt"))
	f.Add("GPU#0 MXC500 0000:08:00.0 Available (UUID: GPU-a\nGPU#1 MXC500 0000:08:00.0 (UUID: GPU-a)\nSGPU#")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseList(text)
		if err != nil {
			return
		}
		index, address, uuid := map[int]bool{}, map[gpu.BDF]bool{}, map[string]bool{}
		for _, l := range list.GPUs {
			key := strings.ToLower(string(l.UUID))
			if index[l.Index] || address[l.BDF] || key != "" && uuid[key] {
				t.Errorf("GPU#%d %s %s shares an identity with another GPU", l.Index, l.BDF, l.UUID)
			}
			index[l.Index], address[l.BDF], uuid[key] = true, true, true
			if _, err := gpu.ParseUUID(string(l.UUID)); l.UUID != "" && err != nil {
				t.Error(err)
			}
			if strings.ContainsFunc(l.Model, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("model %q", l.Model)
			}
		}
		oneLine(t, list.Warnings)
	})
}

// oneLine checks that no warning contains a control character.
func oneLine(t *testing.T, warnings []string) {
	t.Helper()
	for _, w := range warnings {
		if strings.ContainsFunc(w, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("warning %q has control characters", w)
		}
	}
}
