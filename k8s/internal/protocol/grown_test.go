// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGrown: what a later version publishes has more fields, and says the same to this one.
func TestGrown(t *testing.T) {
	inTopology := func(text string) (any, error) { return ParseNodeTopology(text) }
	inState := func(text string) (any, error) { return ParseNodeState(text, 6) }
	inFaults := func(text string) (any, error) { return ParseFaults(text) }
	inSliceFile := func(text string) (any, error) { return ParseSliceFile(text) }
	for name, test := range map[string]struct {
		parse    func(string) (any, error)
		text     string
		old, new string // where a field is added
	}{
		"topology":            {inTopology, `{"version":1,"gpus":[{"uuid":"GPU-a","numa":1}]}`, `{"v`, `{"more":{"a":1},"v`},
		"GPU of a topology":   {inTopology, `{"version":1,"gpus":[{"uuid":"GPU-a","numa":1}]}`, `{"uuid`, `{"more":[1],"uuid`},
		"state":               {inState, `{"generation":3,"gpus":6,"free":"0f","unhealthy":"10","outside":"00"}`, `{`, `{"more":{"a":1},`},
		"faults":              {inFaults, `[{"uuid":"GPU-1","code":"missing","pods":[{"namespace":"a","name":"b","uid":"c"}]}]`, `{"uuid`, `{"more":1,"uuid`},
		"file of a slice":     {inSliceFile, "id=GPU-1-sgpu0;compute=10;vram=1024;alias=k8s-1", "id=", "more=1;id="},
		"file with an ending": {inSliceFile, "id=GPU-1-sgpu0;compute=10;vram=1024;alias=k8s-1", "k8s-1", "k8s-1;more"},
	} {
		want, err := test.parse(test.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		grown := strings.Replace(test.text, test.old, test.new, 1)
		got, err := test.parse(grown)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || grown == test.text {
			t.Errorf("%s: %s: %v (-want +got):\n%s", name, grown, err, diff)
		}
	}
}
