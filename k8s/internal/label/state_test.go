// SPDX-License-Identifier: Apache-2.0

package label

import (
	"errors"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// TestNext has sequences of readings: "g" has GPUs, "." certainly none, "!" cannot tell. After
// each the node has the labels of its GPUs (g), those of a node without (n), or what it had
// (-).
func TestNext(t *testing.T) {
	for name, test := range map[string]struct{ readings, want string }{
		"GPUs at once":                   {"g g", "g g"},
		"none after three":               {". . . . .", "- - n n n"},
		"GPUs go":                        {"g . . . .", "g - - n n"},
		"GPUs come back in time":         {"g . . g . . .", "g - - g - - n"},
		"an error is not a reading":      {". . ! . . .", "- - - - - n"},
		"errors alone never decide":      {"! ! ! ! ! !", "- - - - - -"},
		"GPUs, and then errors":          {"g ! ! ! !", "g - - - -"},
		"no GPU, then an error, then no": {". . . ! . . .", "- - n - - - n"},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			var got []string
			for _, reading := range strings.Fields(test.readings) {
				var found, labels map[string]string
				var err error
				switch reading {
				case "g":
					found = map[string]string{protocol.LabelInstalled: "true"}
				case ".":
					err = errors.Join(ErrNoGPU)
				case "!":
					err = errors.New("permission denied")
				}
				s, labels = s.Next(found, err)
				letter := map[string]string{"true": "g", "false": "n", "": "-"}[labels[protocol.LabelInstalled]]
				if len(labels) > 1 {
					t.Errorf("labels are %v", labels)
				}
				got = append(got, letter)
			}
			if is := strings.Join(got, " "); is != test.want {
				t.Errorf("got  %q\nwant %q", is, test.want)
			}
		})
	}
}
