// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func TestFromAndList(t *testing.T) {
	gpus := []gpu.GPU{
		{Index: 0, Model: "MXC500", UUID: "GPU-aa", BDF: gpu.BDF{Bus: 1}, Healthy: true},
		{Index: 1, Model: "MXC500", UUID: "GPU-ab", BDF: gpu.BDF{Bus: 2}},
	}
	list := func(current string) Answer { return List(current, GPUs(current, gpus)) }
	for name, c := range map[string]struct {
		got  Answer
		want string
	}{
		"words":           {From("b", Words("ab", "binpack", "b")), "binpack\nb\n:4\n"},
		"none":            {From("x", Words("a")), ":4\n"},
		"a GPU":           {list(""), "0\tMXC500, 0000:01:00.0\n1\tMXC500, 0000:02:00.0, unhealthy\n:6\n"},
		"a second GPU":    {list("1,"), "1,0\tMXC500, 0000:01:00.0\n:6\n"},
		"in brackets":     {list("[1,"), "[1,0\tMXC500, 0000:01:00.0\n:6\n"},
		"a UUID alone":    {list("[GPU-ab"), "[GPU-ab\tMXC500, 0000:02:00.0, unhealthy\n:6\n"},
		"a UUID":          {list("1,GPU-a"), "1,GPU-aa\tMXC500, 0000:01:00.0\n1,GPU-ab\tMXC500, 0000:02:00.0, unhealthy\n:6\n"},
		"behind a prefix": {From("s", Words("spread")).Behind("--policy=", 0), "--policy=spread\n:4\n"},
	} {
		var b strings.Builder
		if err := Print(&b, c.got, true); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Answer{
		"run\tRun a container\nrm\n:4\nCompletion ended\n": {[]Candidate{{"run", "Run a container"}, {"rm", ""}}, NoFiles},
		"_activeHelp_ name an image\nubuntu\n:6\n":         {[]Candidate{{"ubuntu", ""}}, NoFiles | NoSpace},
		// Docker does not check the names of networks. No shell quotes a word of these.
		"a$(id)\na b\n`id`\nx\x1b[2J\n\u202ey\ngood\tis \x1b[2J\n:4\n": {[]Candidate{{"good", "is \ufffd[2J"}}, NoFiles},
		":1\n":              {nil, NoFiles}, // docker reports its failure
		":0\n":              {},
		"yaml\nyml\n:8\n":   {}, // files with these endings
		"unknown command\n": {},
		"a\n:many\n":        {},
	} {
		if diff := cmp.Diff(want, Parse(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("run\tRun a container\n:4\n")
	f.Fuzz(func(t *testing.T, text string) {
		a := Parse(text)
		var b strings.Builder
		if err := Print(&b, a, true); err != nil {
			t.Fatal(err)
		}
		for _, c := range a.Candidates {
			if c.Word == "" || strings.HasPrefix(c.Word, ":") {
				t.Errorf("candidate %q", c.Word)
			}
		}
	})
}
