// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComplete(t *testing.T) {
	type want struct{ words, first, value string } // first of the options
	for line, w := range map[string]want{
		"":                                {},
		"ps":                              {words: "ps"},
		"run":                             {words: "run", first: "dry-run"},
		"run --rm":                        {words: "run --rm", first: "dry-run"},
		"run --gpus":                      {value: "gpus"},
		"run --rm --gpus-policy":          {value: "gpus-policy"},
		"run --gpus=2 --gpus-wait 1m -it": {words: "run -it", first: "dry-run"},
		"run --gpus-wait 1m":              {words: "run", first: "dry-run"}, // --gpus may follow
		"run --network":                   {words: "run --network"},
		"run -it --network":               {words: "run -it --network"},
		"run --gpus 2 image":              {words: "run image"},
		"run --gpus 2 image --gpus":       {words: "run image --gpus"},
		"run --":                          {words: "run --"},
		"run --inject=other":              {words: "run", first: "dry-run"},
		"container create --gpus=1":       {words: "container create", first: "dry-run"},
		"start --gpus-wait":               {value: "gpus-wait"},
		"start c":                         {words: "start c", first: "dry-run"},
		"start --gpus-share c":            {words: "start c", first: "dry-run"},
		"compose up":                      {words: "compose up", first: "gpus-explain"},
		"compose up --gpus-policy":        {value: "gpus-policy"},
		"compose -f x up --gpus-share a":  {words: "compose -f x up a", first: "gpus-explain"},
		"compose start":                   {words: "compose start", first: "gpus-log-level"},
		"compose run a":                   {words: "compose run a"},
		"compose ps":                      {words: "compose ps"},
		"compose config":                  {words: "compose config"},
	} {
		got := Complete(strings.Fields(line), Docker())
		is := want{words: strings.Join(got.Words, " "), value: got.Value}
		if len(got.Options) > 0 {
			is.first = got.Options[0].Name
		}
		if diff := cmp.Diff(w, is, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

func FuzzComplete(f *testing.F) {
	f.Add("run --gpus=2 --rm -it")
	f.Add("compose -f x up --gpus-wait")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		got := Complete(words, Docker())
		if got.Value != "" && got.Words != nil {
			t.Errorf("%q: %+v", line, got)
		}
		if len(got.Words) > len(words) {
			t.Errorf("%q has more words: %q", line, got.Words)
		}
	})
}
