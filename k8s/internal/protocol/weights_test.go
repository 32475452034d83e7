// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseWeights(t *testing.T) {
	for name, c := range map[string]struct {
		data     map[string]string
		want     Weights
		problems []string
	}{
		"none":    {nil, Weights{}, nil},
		"empty":   {map[string]string{"scoreWeight": "", "lossWeight": ""}, Weights{}, nil},
		"both":    {map[string]string{"scoreWeight": "1", "lossWeight": "0.5"}, Weights{1, 0.5}, nil},
		"one":     {map[string]string{"lossWeight": "2"}, Weights{0, 2}, nil},
		"a word":  {map[string]string{"scoreWeight": "much", "lossWeight": "1"}, Weights{}, []string{`scoreWeight "much"; want a number from 0 to 1000000`}},
		"NaN":     {map[string]string{"scoreWeight": "NaN"}, Weights{}, []string{`scoreWeight "NaN"; want a number from 0 to 1000000`}},
		"below 0": {map[string]string{"lossWeight": "-1"}, Weights{}, []string{`lossWeight "-1"; want a number from 0 to 1000000`}},
		"mistyped": {map[string]string{"scoreweight": "1"}, Weights{}, []string{
			`key "scoreweight" is not known; want scoreWeight or lossWeight`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, problems := ParseWeights(c.data)
			if diff := cmp.Diff(c.want, w); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.problems, problems); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseWeights(f *testing.F) {
	f.Add("1", "0.5")
	f.Add("inf", "1e999")
	f.Fuzz(func(t *testing.T, score, loss string) {
		w, problems := ParseWeights(map[string]string{"scoreWeight": score, "lossWeight": loss})
		for _, v := range []float64{w.Score, w.Loss} {
			if !(v >= 0 && v <= maxWeight) {
				t.Errorf("%v of %q, %q: %v", v, score, loss, problems)
			}
		}
	})
}
