// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func (c PodChoice) String() string {
	var words []string
	if c.Policy != nil {
		words = append(words, c.Policy.String())
	}
	for _, u := range c.GPUs {
		words = append(words, string(u))
	}
	if c.MACA != nil {
		words = append(words, fmt.Sprint(*c.MACA))
	}
	return strings.Join(words, " ")
}

func TestParsePod(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("GPU-a,", 200), ",")
	var distinct []string
	for i := range maxGPUs + 1 {
		distinct = append(distinct, fmt.Sprintf("GPU-%d", i))
	}
	for _, test := range []struct {
		key, text, want, err string
	}{
		{"other", "x", "", ""},
		{HAMiPolicyAnnotation, "spread", "spread", ""},
		{HAMiPolicyAnnotation, "binpack", "binpack", ""},
		{HAMiPolicyAnnotation, "mtf", "", `"mtf"; want spread or binpack`},
		{HAMiPolicyAnnotation, "", "", `""; want spread`},
		{PolicyAnnotation, "mtf", "mtf", ""},
		{PolicyAnnotation, "weighted:10,1", "weighted:10,1", ""},
		{PolicyAnnotation, "best\x1b", "", `policy "best\x1b" is not known`},
		{PolicyAnnotation, strings.Repeat("a", 1<<20), "", "is too long"},
		{GPUsAnnotation, "GPU-a", "GPU-a", ""},
		{GPUsAnnotation, "GPU-b, GPU-a", "GPU-b GPU-a", ""},
		{GPUsAnnotation, "GPU-a,,GPU-b", "", `"" is not the UUID`},
		{GPUsAnnotation, "0,1", "", `"0" is not the UUID`},
		{GPUsAnnotation, "", "", `"" is not the UUID`},
		{GPUsAnnotation, "GPU-a,GPU-A", "", `"GPU-A" occurs twice`},
		{GPUsAnnotation, many, "", "occurs twice"},
		{GPUsAnnotation, strings.Join(distinct, ","), "", "more than 128 GPUs"},
		{GPUsAnnotation, strings.Repeat("a", 1<<20), "", "1048576 bytes"},
		{MACAAnnotation, "true", "true", ""},
		{MACAAnnotation, "false", "false", ""},
		{MACAAnnotation, "yes", "", `"yes"; want true or false`},
	} {
		c, errs := ParsePod(map[string]string{test.key: test.text})
		switch {
		case c.String() != test.want:
			t.Errorf("%s %.40q gives %s, want %s", test.key, test.text, c, test.want)
		case test.err == "" && len(errs) > 0:
			t.Errorf("%s %.40q: %v", test.key, test.text, errs)
		case test.err != "" && (len(errs) != 1 || !errors.Is(errs[0], ErrAnnotation) || !strings.Contains(errs[0].Error(), test.err)):
			t.Errorf("%s %.40q: %v, want %s", test.key, test.text, errs, test.err)
		}
	}
	all := map[string]string{HAMiPolicyAnnotation: "spread", PolicyAnnotation: "binpack", GPUsAnnotation: "GPU-a", MACAAnnotation: "x"}
	if c, errs := ParsePod(all); c.String() != "binpack GPU-a" || len(errs) != 1 {
		t.Errorf("got %s, %v", c, errs)
	}
	all[PolicyAnnotation] = "x"
	if c, errs := ParsePod(all); c.String() != "spread GPU-a" || len(errs) != 2 {
		t.Errorf("got %s, %v", c, errs)
	}
}

func FuzzParsePod(f *testing.F) {
	f.Add("spread", "binpack", "GPU-a,GPU-b", "true")
	f.Add("", "weighted:1e999,-1", "GPU-a,\x00", "True")
	f.Add("binpack\n", "weighted:NaN,0", ",", "")
	f.Fuzz(func(t *testing.T, hami, policy, gpus, maca string) {
		c, errs := ParsePod(map[string]string{HAMiPolicyAnnotation: hami, PolicyAnnotation: policy, GPUsAnnotation: gpus, MACAAnnotation: maca})
		for _, err := range errs {
			if !errors.Is(err, ErrAnnotation) || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error %q", err)
			}
		}
		if len(c.GPUs) > maxGPUs {
			t.Errorf("%d GPUs", len(c.GPUs))
		}
		given, err := ParseGiven(gpus)
		if err != nil && (!errors.Is(err, ErrAnnotation) || given != nil) || len(given) > maxGPUs {
			t.Errorf("%q was given %v, %v", gpus, given, err)
		}
	})
}
