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

// TestBeyond finds what a line with GPU 0 gives or shows besides.
func TestBeyond(t *testing.T) {
	node := simtest.Node(t, "c500-8")
	const all = "all 8 GPUs of the host, not only what was chosen"
	for line, want := range map[string]string{
		"--device /dev/dri --device /dev/mxcd":               "with --device /dev/dri the container can open " + all,
		"--device=/dev/dri/card2:/dev/x:rwm":                 "with --device /dev/dri/card2:/dev/x:rwm the container can open GPU 1 as well",
		"--device=/link":                                     "with --device /link the container can open GPU 4 as well",
		"--device=/dev/dri/card1 --device=/dev/mxcd":         "",
		"--device=/dev/dri/../dri/":                          "with --device /dev/dri/../dri/ the container can open " + all,
		"--device=metax-tech.com/maca=host":                  "",
		"--device-cgroup-rule=c_226:*_rwm":                   "with --device-cgroup-rule c 226:* rwm the container can open " + all,
		"--device-cgroup-rule=a_*:*_rw":                      "with --device-cgroup-rule a *:* rw the container can open " + all,
		"--device-cgroup-rule=c_226:129_r":                   "with --device-cgroup-rule c 226:129 r the container can open GPU 1 as well",
		"--device-cgroup-rule=c_226:128_r":                   "",
		"--device-cgroup-rule=c_226:*_m":                     "",
		"--device-cgroup-rule=b_226:*_rwm":                   "",
		"--device-cgroup-rule=c_10:*_rwm":                    "",
		"--device-cgroup-rule=odd":                           "",
		"-v /dev/dri:/dev/dri":                               "--volume /dev/dri:/dev/dri shows the container the nodes of " + all + "; it cannot open the others",
		"-v /dev:/dev:ro":                                    "--volume /dev:/dev:ro shows the container the nodes of " + all + "; it cannot open the others",
		"-v /:/host":                                         "--volume /:/host shows the container the nodes of " + all + "; it cannot open the others",
		"-v /dev/shm:/dev/shm -v dev:/dev -v /x":             "",
		"--mount type=bind,src=/dev/dri,dst=/dev/dri":        "--mount type=bind,src=/dev/dri,dst=/dev/dri shows the container the nodes of " + all + "; it cannot open the others",
		"--mount type=tmpfs,dst=/dev/dri":                    "",
		"-v /dev:/dev --device /dev/dri --device /dev/dri":   "with --device /dev/dri the container can open " + all,
		"--privileged":                                       "--privileged shows the container every GPU of the host, not only what was chosen",
		"--privileged=false":                                 "",
		"--env=A=/dev/dri --rm --volume=/dev/mxcd:/dev/mxcd": "",
	} {
		var words []string
		for word := range strings.FieldsSeq("run " + line + " image") {
			words = append(words, strings.ReplaceAll(word, "_", " "))
		}
		cmd, err := dockerargs.Scan(words, dockerargs.Docker())
		if err != nil {
			t.Fatal(err)
		}
		resolve := func(path string) string {
			if path == "/link" {
				return "/dev/dri/card5"
			}
			return path
		}
		if got := inject.Beyond(cmd.Flags, node, node.GPUs[:1], "/", resolve); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
		if got := inject.Beyond(cmd.Flags, node, node.GPUs, "/", resolve); got != "" {
			t.Errorf("%s: %q with all GPUs", line, got)
		}
		if got := inject.Beyond(cmd.Flags, node, []gpu.GPU{node.GPUs[0]}, "/elsewhere", resolve); strings.Contains(got, "dri") {
			t.Errorf("%s: %q below another root", line, got)
		}
	}
}
