// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlugin(t *testing.T) {
	for line, want := range map[string]string{
		"metax run --gpus=1 metax":         "run --gpus=1 metax",
		"--context metax metax run metax":  "--context metax run metax",
		"-H unix:///x -D metax ps":         "-H unix:///x -D ps",
		"metax":                            "",
		"metax --help":                     "--help",
		"help metax run":                   "help run",
		"__complete metax run --":          "__complete run --",
		"metax metax run":                  "metax run",
		"run metax":                        "run metax",
		"help":                             "help",
		"--bogus metax metax run --gpus=1": "--bogus metax metax run --gpus=1",
	} {
		if d := cmp.Diff(strings.Fields(want), Plugin(strings.Fields(line), "metax", Docker())); d != "" && want+line != "metax" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
	}
}
