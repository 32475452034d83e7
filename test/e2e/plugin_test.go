// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestPlugin runs metax-docker as a plugin of docker: docker metax.
func TestPlugin(t *testing.T) {
	for _, row := range []struct {
		suite, version string
		layout         sandbox.Layout
	}{
		{docker29, "29.8.", sandbox.V2},
		{"sid", "28.", sandbox.V2},
		{"bookworm", "20.10.", sandbox.Hybrid},
	} {
		t.Run(row.suite, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout)
			h.docker(t, row.version, nil)
			env := []string{"METAX_CTK_ROOT=" + nodeDir}
			h.link(t, sandbox.BinDir+"/metax-docker", "/usr/libexec/docker/cli-plugins/docker-metax")
			if help := h.must(t, nil, "docker", "--help"); !strings.Contains(help, "Docker with MetaX GPUs") {
				t.Errorf("docker --help does not list the plugin:\n%s", help)
			}

			want := h.pick(t, 4)
			in := h.inbox(t)
			look := append([]string{imageRef, "/probe", "look"}, h.numbers(t)...)
			argv := []string{"docker", "--host=unix:///run/docker.sock", "metax", "run", "--rm", "--network=none", "--volume", in.dir + ":" + report.Dir, "--gpus=4"}
			h.must(t, env, append(argv, look...)...)
			h.sees(t, in.report(t), want)

			if r := h.run(t, env, "docker", "metax", "run", "--rm", "--network=none", "--volume", h.inbox(t).dir+":"+report.Dir, "--gpus=1", imageRef, "/probe", "exit", "42"); r.code != 42 {
				t.Errorf("want exit code 42: %v", r)
			}
			if r := h.run(t, env, "docker", "metax", "run", "--gpus=9", imageRef); r.code != 125 || !strings.Contains(r.stderr, "9 GPUs requested, but this node has only 8") {
				t.Errorf("want exit code 125, and why: %v", r)
			}
			if r := h.run(t, env, "docker", "--context=nowhere", "metax", "run", "--gpus=1", imageRef); r.code == 0 || !strings.Contains(r.stderr, "nowhere") {
				t.Errorf("want an error about the context: %v", r)
			}
			for _, words := range [][]string{{"docker", "metax", "run", "--help"}, {"docker", "help", "metax", "run"}, {"docker", "metax", "--help"}} {
				if help := h.must(t, env, words...); !strings.Contains(help, "--gpus-policy") || !strings.Contains(help, "Usage:") {
					t.Errorf("%q prints not both helps:\n%s", words, help)
				}
			}
		})
	}
}
