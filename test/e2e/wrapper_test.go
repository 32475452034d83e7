// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// wrapper drives an engine through metax-docker.
type wrapper struct {
	*host
	// client is the binary that metax-docker becomes.
	client string
	// options are before the image in every run.
	options []string
	// cdi is whether this engine knows CDI; if not, plain flags are the only way.
	cdi bool
	// auto is the way that metax-docker takes where none is named.
	auto string
	// unknown is the engine's own message about a CDI device that does not exist.
	unknown string
}

func (w wrapper) env() []string {
	return []string{"METAX_CTK_ROOT=" + nodeDir, "METAX_CTK_DOCKER=" + w.client}
}

// argv is a command line that runs the probe, which reports into the inbox.
func (w wrapper) argv(in inbox, options []string, probe ...string) []string {
	argv := []string{"metax-docker", "run", "--rm", "--network=none", "--volume", in.dir + ":" + report.Dir}
	argv = append(append(argv, w.options...), options...)
	return append(append(argv, imageRef, "/probe"), probe...)
}

// lookArgv runs the probe. As root it also tries the device nodes of every GPU.
func (w wrapper) lookArgv(t *testing.T, in inbox, options ...string) []string {
	return w.argv(in, options, append([]string{"look"}, w.numbers(t)...)...)
}

func (w wrapper) look(t *testing.T, options ...string) report.Report {
	t.Helper()
	in := w.inbox(t)
	w.must(t, w.env(), w.lookArgv(t, in, options...)...)
	return in.report(t)
}

// alone runs the probe with the engine's own client, as a user other than root.
func (w wrapper) alone(t *testing.T, options ...string) report.Report {
	t.Helper()
	in := w.inbox(t)
	argv := w.lookArgv(t, in, append(options, "--user=1000:1000")...)
	argv[0] = w.client
	w.must(t, nil, argv...)
	return in.report(t)
}

// journey is what a user of metax-docker relies on, with whichever engine.
func (w wrapper) journey(t *testing.T) {
	ways := []string{"flags"}
	if w.cdi {
		ways = []string{"cdi", "flags"}
	}

	t.Run("no GPU asked, none given", func(t *testing.T) {
		w.sees(t, w.look(t), nil)
	})
	t.Run("way", func(t *testing.T) { w.prints(t, w.inbox(t), w.auto) })
	t.Run("four GPUs", func(t *testing.T) {
		want := w.pick(t, 4) // of those that are free
		w.sees(t, w.look(t, "--gpus=4"), want)
	})
	t.Run("all GPUs", func(t *testing.T) {
		w.sees(t, w.look(t, "--gpus", "all"), []int{0, 1, 2, 3, 4, 5, 6, 7})
	})
	for _, way := range ways {
		t.Run("by "+way, func(t *testing.T) {
			inject := "--inject=" + way
			t.Run("dry run", func(t *testing.T) {
				in := w.inbox(t)
				w.must(t, nil, "sh", "-c", w.prints(t, in, way, inject))
				w.sees(t, in.report(t), []int{3})
			})
			t.Run("named GPUs", func(t *testing.T) {
				w.sees(t, w.look(t, inject, "--gpus=0,"+w.gpus[6].UUID), []int{0, 6})
			})
			t.Run("non-root user", func(t *testing.T) {
				r := w.look(t, inject, "--gpus=1,5", "--user=1000:1000")
				w.sees(t, r, []int{1, 5})
				if !slices.Contains(r.Groups, videoGID) {
					t.Errorf("the user is in groups %v, want %d among them", r.Groups, videoGID)
				}
			})
		})
	}
	if w.cdi {
		t.Run("CDI without the wrapper", func(t *testing.T) {
			w.sees(t, w.alone(t, "--device="+w.cdiNames([]int{2})[0]), []int{2})
		})
	}
	t.Run("create and start", func(t *testing.T) {
		want := w.pick(t, 2)
		in := w.inbox(t)
		argv := w.lookArgv(t, in, "--gpus=2")
		argv[1] = "create"
		id := strings.TrimSpace(w.must(t, w.env(), argv...))
		if !in.empty(t) {
			t.Error("create has run the probe")
		}
		w.must(t, w.env(), "metax-docker", "start", "--attach", id)
		w.sees(t, in.report(t), want)
	})
	t.Run("exit code", func(t *testing.T) {
		if r := w.run(t, w.env(), w.argv(w.inbox(t), []string{"--gpus=1"}, "exit", "42")...); r.code != 42 {
			t.Errorf("want exit code 42: %v", r)
		}
	})
	t.Run("signal", w.signal)
	t.Run("must fail", w.failures)
}

// prints asserts the way of injection by the command that metax-docker would become, and
// returns that: the probe cannot tell the ways apart, it sees the same in all.
func (w wrapper) prints(t *testing.T, in inbox, way string, options ...string) string {
	t.Helper()
	printed := w.must(t, w.env(), w.lookArgv(t, in, append(options, "--dry-run", "--gpus=device=3")...)...)
	if !in.empty(t) {
		t.Error("a dry run has run the probe")
	}
	for text, want := range map[string]bool{
		w.cdiNames([]int{3})[0]:      way == "cdi",
		nodeDir + w.gpus[3].Nodes[0]: way == "flags",
	} {
		if got := strings.Contains(printed, text); got != want {
			t.Errorf("the command by %s names %s: %t, want %t\n%s", way, text, got, want, printed)
		}
	}
	return printed
}

// signal asserts that metax-docker's own process becomes the engine's client, so that a
// signal to it is the client's to pass on, and that the container's answer comes back.
func (w wrapper) signal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	in := w.inbox(t)
	argv := w.argv(in, []string{"--gpus=1"}, "wait")
	cmd := w.Command(ctx, w.env(), argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := sandbox.Inner(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.waiting(ctx); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	// The probe may be faster than the engine, which still notes the start; Podman 4 then
	// loses the exit code of a container that ends.
	for w.must(t, nil, w.client, "ps", "--quiet") == "" {
		if ctx.Err() != nil {
			t.Fatalf("%s lists no container while the probe waits", w.client)
		}
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil || filepath.Base(exe) != w.client {
		t.Errorf("metax-docker's process runs %q (%v), want it replaced by %s", exe, err, w.client)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // the exit code below tells
	if code := cmd.ProcessState.ExitCode(); code != report.TermCode {
		t.Errorf("SIGTERM ends it with exit code %d, want the probe's %d\n%s", code, report.TermCode, stderr.String())
	}
}

// failures are the cases that have to fail: a row that passes whatever happens shows here.
func (w wrapper) failures(t *testing.T) {
	cases := []struct {
		name    string
		options []string
	}{
		{"unknown GPU", []string{"--gpus=GPU-00000000-dead-beef-0000-000000000000"}},
		{"nine GPUs of eight", []string{"--gpus=9"}},
		{"no GPU at all", []string{"--gpus=0"}},
		{"unknown way", []string{"--gpus=1", "--inject=magic"}},
	}
	if !w.cdi {
		cases = append(cases, struct {
			name    string
			options []string
		}{"CDI on an engine without it", []string{"--gpus=1", "--inject=cdi"}})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := w.inbox(t)
			r := w.run(t, w.env(), w.lookArgv(t, in, c.options...)...)
			if r.code != 125 || r.stderr == "" || !in.empty(t) {
				t.Errorf("want exit code 125, a message, and no container: %v", r)
			}
		})
	}
	t.Run("user without the group of the node", func(t *testing.T) {
		const path = "/dev/dri/card1"
		r := w.alone(t, "--device="+nodeDir+path+":"+path)
		at := slices.IndexFunc(r.Nodes, func(n report.Node) bool { return n.Path == path })
		if at < 0 || r.Nodes[at].Open != "EACCES" {
			t.Errorf("want %s there and refused with EACCES: %+v", path, r.Nodes)
		}
	})
	t.Run("unknown CDI device of ours", func(t *testing.T) {
		r := w.run(t, w.env(), w.lookArgv(t, w.inbox(t), "--device=metax-tech.com/gpu=99")...)
		if r.code != 125 || !strings.Contains(r.stderr, `"99" is not a GPU`) {
			t.Errorf("want exit code 125 and why: %v", r)
		}
	})
	t.Run("unknown CDI device of others, asked of the engine", func(t *testing.T) {
		r := w.run(t, w.env(), w.lookArgv(t, w.inbox(t), "--device=example.com/gpu=99")...)
		if r.code == 0 || !strings.Contains(r.stderr, w.unknown) {
			t.Errorf("want a failure that says %q: %v", w.unknown, r)
		}
	})
}
