// SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestHides gives GPUs 4 to 7 to a line with variables.
func TestHides(t *testing.T) {
	gpus := simtest.Node(t, "c500-8").GPUs[4:]
	const from0 = ": in the container they count from 0. Leave it out to use all"
	files := map[string]string{"vars": "A=b\nCUDA_VISIBLE_DEVICES=4,5\n", "pass": "MACA_VISIBLE_DEVICES\n"}
	for line, want := range map[string]string{
		"-e MACA_VISIBLE_DEVICES=4,5,6,7":                               "MACA_VISIBLE_DEVICES=4,5,6,7 leaves no GPU" + from0,
		"-e MACA_VISIBLE_DEVICES":                                       "MACA_VISIBLE_DEVICES=3,4 leaves only 1 of 4 GPUs" + from0,
		"--env-file vars":                                               "CUDA_VISIBLE_DEVICES=4,5 leaves no GPU" + from0,
		"--env-file pass":                                               "MACA_VISIBLE_DEVICES=3,4 leaves only 1 of 4 GPUs" + from0,
		"-e CUDA_VISIBLE_DEVICES=7 -e MACA_VISIBLE_DEVICES=0":           "",
		"-e CUDA_VISIBLE_DEVICES=3,0":                                   "",
		"-e CUDA_VISIBLE_DEVICES":                                       "",
		"-e MACA_VISIBLE_DEVICES=":                                      "",
		"-e MACA_VISIBLE_DEVICES=-1":                                    "",
		"-e MACA_VISIBLE_DEVICES=" + string(gpus[1].UUID):               "",
		"-e MACA_VISIBLE_DEVICES=GPU-00000000-0000-0000-0000-000000000": "MACA_VISIBLE_DEVICES=GPU-00000000-0000-0000-0000-000000000 leaves no GPU" + from0,
		"--env-file missing -e MACA_VISIBLE_DEVICES=9":                  "",
		"--rm": "",
	} {
		cmd, err := dockerargs.Scan(strings.Fields("run "+line+" image"), dockerargs.Docker())
		if err != nil {
			t.Fatal(err)
		}
		read := func(name string) (string, error) {
			text, ok := files[name]
			if !ok {
				return "", strings.NewReader("").UnreadByte()
			}
			return text, nil
		}
		getenv := func(name string) (string, bool) { return "3,4", name == "MACA_VISIBLE_DEVICES" }
		if got := inject.Hides(cmd.Flags, gpus, nil, read, getenv); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	cmd, err := dockerargs.Scan([]string{"run", "-e", "MACA_VISIBLE_DEVICES=1", "image"}, dockerargs.Docker())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := inject.Hides(cmd.Flags, gpus[:1], []gpu.Slice{{}}, nil, nil), "MACA_VISIBLE_DEVICES=1 leaves no GPU"+from0; got != want {
		t.Errorf("a slice: %q, want %q", got, want)
	}
}
