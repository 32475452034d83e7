// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A client's own tables decide where docker's are incomplete.
func TestScanOtherClient(t *testing.T) {
	podman := Client{
		Global: Docker().Global.Merge(Table{{Name: "log-level", Value: true}, {Name: "root", Value: true}}),
		Run:    Docker().Run.Merge(Table{{Name: "rmi"}, {Name: "tz", Value: true}, {Name: "dry-run", Value: true}}),
	}
	tests := []struct {
		in, want string
		takes    bool
	}{
		{"--root /x run --rmi --tz local --gpus 1 img", "--root /x run --rmi --tz local IN img", true},
		{"run --log-level debug --gpus 1 img", "run --log-level debug IN img", true}, // also accepted after the command
		{"container --log-level debug run --gpus 1 img", "container --log-level debug run IN img", true},
		{"run --dry-run later img", "run --dry-run later img", false}, // the client's own
		{"run --dry-run --gpus=1 img", "run IN img", true},            // ours
		{"run --dry-run later --gpus=1 img", "run --dry-run later IN img", true},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			cmd, err := Scan(words(tt.in), podman)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, join(cmd.Rewrite("IN"))); d != "" || cmd.TakesGPU != tt.takes || cmd.Image != "img" {
				t.Errorf("takes GPU %v, image %q; -want +got:\n%s", cmd.TakesGPU, cmd.Image, d)
			}
		})
	}
	letter := Client{Run: Table{{Name: "gpus", Value: true}, {Name: "inject", Short: 'I', Value: true}}}
	for _, line := range []string{"run -I x img", "run -I"} {
		cmd, err := Scan(words(line), letter)
		if err != nil || !cmd.Flags.Has("inject") {
			t.Errorf("%q: flags %v, error %v; -I is the client's alone", line, cmd.Flags, err)
		}
	}
	if _, err := Scan(words("run --dry-run later --inject=cdi img"), podman); err == nil {
		t.Error("--inject is nobody's without --gpus, but was taken")
	}
}

// TestMistyped: only a line with an option of metax-docker is judged.
func TestMistyped(t *testing.T) {
	for line, want := range map[string]string{
		"rn --gpus=2 img":             "rn run",
		"--host h rnu -it --gpus 2 i": "rnu run",
		"container rn --maca img":     "rn run",
		"craete --gpus=2 img":         "craete create",
		"restrat c --gpus-share":      "restrat restart",
		"rn img":                      " ",
		"run --gpus=2 img":            " ",
		"rm --gpus=2":                 " ",
		"build --gpus=2 .":            " ",
		"container":                   " ",
		"":                            " ",
	} {
		typed, meant := Mistyped(words(line), Docker())
		if got := typed + " " + meant; got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
