// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNodeState(t *testing.T) {
	for want, s := range map[string]NodeState{
		`{"generation":7,"gpus":8,"free":"f3","unhealthy":"08","outside":"04"}`:                                               {Generation: 7, GPUs: 8, Free: []int{0, 1, 4, 5, 6, 7}, Unhealthy: []int{3}, Outside: []int{2}},
		`{"generation":0,"gpus":0,"free":"0","unhealthy":"0","outside":"0"}`:                                                  {},
		`{"generation":1,"gpus":1,"free":"1","unhealthy":"0","outside":"0"}`:                                                  {Generation: 1, GPUs: 1, Free: []int{0}},
		`{"generation":1,"gpus":65,"free":"10000000000000000","unhealthy":"08000000000000001","outside":"00000000000000000"}`: {Generation: 1, GPUs: 65, Free: []int{64}, Unhealthy: []int{0, 63}},
	} {
		if got := s.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		back, err := ParseNodeState(want, s.GPUs)
		if diff := cmp.Diff(s, back); err != nil || diff != "" {
			t.Errorf("%s: %v %s", want, err, diff)
		}
	}
}

func TestParseNodeStateRejects(t *testing.T) {
	for _, text := range []string{
		``, `null`, `[]`,
		`{"generation":1,"gpus":5,"free":"00","unhealthy":"00","outside":"00"}`,
		`{"generation":-1,"gpus":6,"free":"00","unhealthy":"00","outside":"00"}`,
		`{"generation":1,"gpus":6,"free":"0","unhealthy":"00","outside":"00"}`,
		`{"generation":1,"gpus":6,"free":"00","unhealthy":"000","outside":"00"}`,
		`{"generation":1,"gpus":6,"free":"00","unhealthy":"00"}`,
		`{"generation":1,"gpus":6,"free":"40","unhealthy":"00","outside":"00"}`, // GPU 6
		`{"generation":1,"gpus":6,"free":"0F","unhealthy":"00","outside":"00"}`,
		`{"generation":1,"gpus":6,"free":"0x","unhealthy":"00","outside":"00"}`,
		`{"generation":1,"gpus":6,"free":"00","unhealthy":"00","outside":"00"}` + strings.Repeat(" ", maxStateText),
	} {
		if got, err := ParseNodeState(text, 6); !errors.Is(err, ErrAnnotation) || !cmp.Equal(got, NodeState{}) {
			t.Errorf("%.80s gives %+v, %v", text, got, err)
		}
	}
}

func FuzzParseNodeState(f *testing.F) {
	f.Add(`{"generation":7,"gpus":8,"free":"f3","unhealthy":"08","outside":"04"}`, 8)
	f.Add(`{"generation":0,"gpus":0,"free":"0","unhealthy":"0","outside":"0"}`, 0)
	f.Fuzz(func(t *testing.T, text string, gpus int) {
		s, err := ParseNodeState(text, min(max(gpus, 0), maxTopologyGPUs))
		if err != nil {
			return
		}
		back, err := ParseNodeState(s.String(), s.GPUs)
		if diff := cmp.Diff(s, back); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	})
}
