// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var known = map[string][]string{"link": {"path"}, "cache": {"folder", "mode"}}

func TestParse(t *testing.T) {
	type outcome struct {
		Steps    []Step
		Warnings int
		Err      string
	}
	options := func(pairs ...string) map[string][]string {
		m := map[string][]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = append(m[pairs[i]], pairs[i+1])
		}
		return m
	}
	for line, want := range map[string]outcome{
		"":     {Err: "there is no action; see metax-hook --help"},
		"link": {Steps: []Step{{"link", options()}}},
		"link --path a --path=b cache --folder c --mode=": {Steps: []Step{{"link", options("path", "a", "path", "b")}, {"cache", options("folder", "c", "mode", "")}}},
		"link --path cache":                    {Steps: []Step{{"link", options("path", "cache")}}},
		"link --path --path":                   {Steps: []Step{{"link", options("path", "--path")}}},
		"link link":                            {Steps: []Step{{"link", options()}, {"link", options()}}},
		"new":                                  {Warnings: 1},
		"new --a b c link --path a":            {Steps: []Step{{"link", options("path", "a")}}, Warnings: 1},
		"link --new a --path b":                {Steps: []Step{{"link", options("path", "b")}}, Warnings: 1},
		"link --new=a --path b":                {Steps: []Step{{"link", options("path", "b")}}, Warnings: 1},
		"link --new --path b":                  {Steps: []Step{{"link", options("path", "b")}}, Warnings: 1},
		"link --new cache --folder a":          {Steps: []Step{{"link", options()}, {"cache", options("folder", "a")}}, Warnings: 1},
		"link --folder a --path b new cache x": {Steps: []Step{{"link", options("path", "b")}, {"cache", options()}}, Warnings: 3},
		"link --path":                          {Err: `option "--path" has no value`},
		"--path a link":                        {Err: `option "--path" stands before the action`},
	} {
		t.Run(line, func(t *testing.T) {
			steps, warnings, err := Parse(strings.Fields(line), known)
			got := outcome{Steps: steps, Warnings: len(warnings)}
			if err != nil {
				got = outcome{Err: strings.TrimPrefix(err.Error(), "parse arguments: ")}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%q", diff, warnings)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("link --path a cache --folder b")
	f.Add("x --y link --path=1")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		steps, _, err := Parse(args, known)
		if err != nil && steps != nil {
			t.Errorf("steps with an error: %v", steps)
		}
		words := 0
		for _, step := range steps {
			if known[step.Action] == nil {
				t.Errorf("unknown action %q", step.Action)
			}
			words++
			for _, values := range step.Options {
				words += len(values)
			}
		}
		if words > len(args) {
			t.Errorf("%d values from %d words", words, len(args))
		}
	})
}
