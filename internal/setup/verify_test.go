// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
)

// TestVerifyLeavesNothing: a container that does not end is removed with everything
// that verification made, also after the caller has given up.
func TestVerifyLeavesNothing(t *testing.T) {
	s := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", CDI: true}
	for name, tc := range map[string]struct {
		verify func(Host, context.Context) []Proof
		undone []string // commands, with NAME
	}{
		"docker": {
			func(h Host, ctx context.Context) []Proof { return h.tryDocker(ctx, s, true) },
			[]string{"--host unix://SOCKET rm --force NAME", "--host unix://SOCKET image rm --force NAME"},
		},
		"podman": {
			func(h Host, ctx context.Context) []Proof {
				e, err := h.Named(ctx, "podman", Options{})
				if err != nil {
					t.Fatal(err)
				}
				return e.Verify(ctx, s)
			},
			[]string{"rm --force --ignore --time 0 NAME"},
		},
		"containerd": {
			func(h Host, ctx context.Context) []Proof {
				e, err := h.Named(ctx, "containerd", Options{})
				if err != nil {
					t.Fatal(err)
				}
				return h.verifyContainerd(ctx, e, containerd.Places()[0], s)
			},
			[]string{
				"--namespace NAME tasks kill --signal SIGKILL NAME", "--namespace NAME tasks delete --force NAME",
				"--namespace NAME containers delete NAME", "namespaces remove NAME",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			h := newHost(t, map[string]string{
				"/usr/bin/docker": "", "/usr/bin/podman": "", "/usr/bin/ctr": "", "/usr/bin/metax-ctk": "",
				"/etc/containerd/config.toml": "version = 2\n", "/run/containerd/containerd.sock": "", "/var/run/": "",
			})
			h.Self = h.Root.Join("/usr/bin/metax-ctk")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var lines []string
			h.Run = func(run context.Context, _ string, args ...string) ([]byte, error) {
				if _, ends := run.Deadline(); !ends {
					t.Errorf("%v may take for ever", args)
				}
				line := strings.Join(args, " ")
				lines = append(lines, line)
				switch {
				case strings.Contains(line, "run "):
					cancel()
					return nil, errors.New("killed")
				case run.Err() != nil:
					t.Errorf("%v is not tried any more", args)
				}
				return nil, nil
			}
			proofs := tc.verify(h, ctx)
			if !slices.ContainsFunc(proofs, func(p Proof) bool { return !p.OK && strings.Contains(p.Detail, "killed") }) {
				t.Errorf("it is not told: %v", proofs)
			}
			at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, trialName) })
			if at < 0 {
				t.Fatalf("nothing has a name of its own: %q", lines)
			}
			id := lines[at][strings.Index(lines[at], trialName):]
			id = id[:strings.IndexFunc(id+" ", func(r rune) bool { return r == ' ' || r == '/' })]
			for _, want := range tc.undone {
				want = strings.NewReplacer("NAME", id, "SOCKET", h.Root.Join("/var/run/docker.sock")).Replace(want)
				if !slices.Contains(lines, want) {
					t.Errorf("missing %q in\n%s", want, strings.Join(lines, "\n"))
				}
			}
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

// TestFailuresNameTheirFix: each line of a failure ends with the command that fixes it.
func TestFailuresNameTheirFix(t *testing.T) {
	h := newHost(t, map[string]string{"/etc/containerd/config.toml": "version = 2\n", "/etc/docker/daemon.json": "{}", "/etc/containers/": ""})
	for _, tc := range []struct {
		engine string
		s      engine.Setup
		want   []string
	}{
		{"docker", engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime"}, []string{"systemctl start docker"}},
		{"podman", engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime"}, []string{"metax-ctk runtime configure --engine podman --restart"}},
		{"containerd", engine.Setup{Name: "other", Runtime: "/usr/bin/metax-runtime", Default: true}, []string{
			"metax-ctk runtime configure --engine containerd --name other --default --restart",
			"metax-ctk runtime configure --engine containerd --name other --default --restart",
			"metax-ctk runtime configure --engine containerd --name other --default --restart",
		}},
	} {
		e, err := h.Named(t.Context(), tc.engine, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range withFixes(e, tc.s, e.Verify(t.Context(), tc.s)) {
			if p.OK || p.Unknown {
				continue
			}
			got = append(got, p.Fix)
			if !strings.HasPrefix(p.String(), "FAILED") || !strings.HasSuffix(p.String(), "; to fix it: "+p.Fix) {
				t.Errorf("%s: %s", tc.engine, p)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.engine, got, tc.want)
		}
	}
}

// stderr is the error of a program that said why it failed.
type stderr string

func (s stderr) Error() string  { return "exit status 125: \"a first line\"" }
func (s stderr) Stderr() string { return string(s) }

// TestFailuresKeepTheReason is about what a client says last.
func TestFailuresKeepTheReason(t *testing.T) {
	for said, want := range map[string]string{
		"level=warning msg=\"cgroups-v1\"\nError: OCI runtime error: no device\n":                               "docker: Error: OCI runtime error: no device",
		"docker: Error response from daemon: unknown runtime\n\nRun 'docker run --help' for more information\n": "docker: docker: Error response from daemon: unknown runtime",
		"\n": "exit status 125: \"a first line\"",
	} {
		h := Host{Run: func(context.Context, string, ...string) ([]byte, error) { return nil, stderr(said) }}
		if p := h.tryContainer(t.Context(), "x", "/usr/bin/docker", nil); p.OK || p.Detail != want {
			t.Errorf("%q: %+v, want %q", said, p, want)
		}
	}
}
