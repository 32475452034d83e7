// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// setting is an engine of the matrix, as runtime configure meets it.
type setting struct {
	engine string // as --engine names it
	// running asserts that the engine uses the configuration: containers get GPUs in each
	// way that the engine has, and its other runtimes are there.
	running func(t *testing.T)
	// bare asserts that the engine no longer uses anything of the toolkit.
	bare func(t *testing.T)
	// activate has the engine read its configuration, as the printed command would.
	activate func(t *testing.T, command string)
	// doctor is the check of metax-ctk doctor that finds what configure fixes; "" is
	// none.
	doctor string
	// unread reports whether --verify can tell that the engine has not read it yet.
	unread bool
}

// edited is what runtime configure -o json prints about an engine.
type edited struct {
	Engine   string
	Changes  []struct{ Path, Action, Diff string }
	Activate string
}

// configures drives an engine through its journey: set up, in use, looked at, set up
// again, taken out, and that once more. The files of /etc are as before in the end.
func (h *host) configures(t *testing.T, s setting) {
	t.Helper()
	configure := append([]string{"metax-ctk"}, "runtime", "configure", "--engine", s.engine)
	before, cgroups := h.etc(t), trialCgroups(t)

	if s.doctor != "" {
		if r := h.run(t, nil, "metax-ctk", "doctor", "--check", s.doctor); r.code != 4 || !strings.Contains(r.stdout, strings.Join(configure, " ")) {
			t.Errorf("doctor before: want the command that mends it, %v", r)
		}
	}
	if text := h.must(t, nil, append(configure, "--dry-run")...); !strings.Contains(text, "\n+") {
		t.Errorf("a dry run shows no difference:\n%s", text)
	}
	h.unchanged(t, before, "a dry run")

	done := h.edited(t, configure)
	if len(done.Changes) == 0 {
		t.Fatal("nothing was configured")
	}
	after := h.etc(t)
	if r := h.run(t, nil, configure...); r.code != 0 || !strings.Contains(r.stdout, "nothing to do") {
		t.Errorf("the second time: %v", r)
	}
	h.unchanged(t, after, "configured twice")
	if r := h.run(t, nil, append(configure, "--verify")...); s.unread && r.code != 4 {
		t.Errorf("--verify before the engine has read it: want exit code 4, %v", r)
	}

	s.activate(t, done.Activate)
	if r := h.run(t, nil, append(configure, "--verify")...); r.code != 0 {
		t.Errorf("--verify: %v", r)
	} else {
		t.Logf("--verify:\n%s", r.stdout)
	}
	s.running(t)
	if s.doctor != "" {
		if r := h.run(t, nil, "metax-ctk", "doctor", "--check", s.doctor); r.code != 0 {
			t.Errorf("doctor after: %v", r)
		}
	}

	done = h.edited(t, append(configure, "--remove"))
	h.unchanged(t, before, "--remove")
	s.activate(t, done.Activate)
	s.bare(t)

	h.must(t, nil, configure...)
	h.must(t, nil, append(configure, "--remove")...)
	h.unchanged(t, before, "--remove at once")
	if r := h.run(t, nil, append(configure, "--remove")...); r.code != 0 || !strings.Contains(r.stdout, "nothing to do") {
		t.Errorf("--remove where there is nothing: %v", r)
	}
	until(t, func() (bool, string) { // those of other tests go also
		left := slices.DeleteFunc(trialCgroups(t), func(at string) bool { return slices.Contains(cgroups, at) })
		return len(left) == 0, fmt.Sprintf("--verify leaves cgroups: %q", left)
	})
}

// trialCgroups are the cgroups of containers of --verify; the engines of all tests have the
// machine's.
func trialCgroups(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/metax-ctk-verify-*", "/sys/fs/cgroup/*/metax-ctk-verify-*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func (h *host) edited(t *testing.T, argv []string) edited {
	t.Helper()
	var all struct{ Items []edited }
	if err := json.Unmarshal([]byte(h.must(t, nil, append(argv, "-o", "json")...)), &all); err != nil || len(all.Items) != 1 {
		t.Fatalf("%v: %d engines, %v", argv, len(all.Items), err)
	}
	return all.Items[0]
}

// entry is a file as it must be again: content, mode, owner, but not which file it is.
type entry struct {
	Mode     fs.FileMode
	UID, GID uint32
	Text     string
}

// etc are the files of engines in /etc.
func (h *host) etc(t *testing.T) map[string]entry {
	t.Helper()
	found := map[string]entry{}
	for _, dir := range []string{"docker", "containerd", "crio", "containers"} {
		root := h.Path("/etc/" + dir)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) || err == nil && d.IsDir() {
				return nil
			} else if err != nil {
				return err
			}
			info, err := os.Lstat(path)
			if err != nil {
				return err
			}
			owner := info.Sys().(*syscall.Stat_t)
			e := entry{info.Mode(), owner.Uid, owner.Gid, ""}
			if info.Mode()&fs.ModeSymlink != 0 {
				e.Text, err = os.Readlink(path)
			} else if text, rerr := os.ReadFile(path); rerr == nil {
				e.Text = string(text)
			} else {
				err = rerr
			}
			found[strings.TrimPrefix(path, root)+" of "+dir] = e
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func (h *host) unchanged(t *testing.T, before map[string]entry, what string) {
	t.Helper()
	if d := cmp.Diff(before, h.etc(t)); d != "" {
		t.Errorf("%s: the files are not what they were:\n%s", what, d)
	}
}

// daemonJSON is a daemon.json of somebody who indents by tabs and has a runtime.
const daemonJSON = `{
	"bridge": "none",
	"iptables": false,	"ip6tables": false,
	"storage-driver": "overlay2",
	"cgroup-parent": %q,
	"features": { "buildkit": true },
	"runtimes": {
		"spare": { "path": "/usr/sbin/runc" }
	},
	"labels": ["site=somewhere"]
}
`

func TestConfigureDocker(t *testing.T) {
	for _, row := range []struct {
		suite, version string
		layout         sandbox.Layout
		cdi            bool
		doctor         string
	}{
		{"bookworm", "20.10.", sandbox.Hybrid, false, ""},
		{"trixie", "26.1.", sandbox.Hybrid, true, "docker-cdi"},
		{"sid", "28.", sandbox.V2, true, ""},
		{docker29, "29.8.", sandbox.Hybrid, true, ""},
	} {
		t.Run(row.suite, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout)
			h.replant(t)
			h.write(t, "/etc/docker/daemon.json", fmt.Sprintf(daemonJSON, h.Cgroup()))
			if err := os.Chmod(h.Path("/etc/docker/daemon.json"), 0o640); err != nil {
				t.Fatal(err)
			}
			d := h.dockerd(t, row.version)
			c := shimDocker{h, append([]string{"/probe", "look"}, h.numbers(t)...)}
			spare := func(t *testing.T) {
				t.Helper()
				h.must(t, nil, "docker", "run", "--rm", "--network=none", "--runtime=spare", imageRef, "/probe", "exit", "0")
			}
			h.configures(t, setting{
				engine: "docker", unread: true, doctor: row.doctor,
				activate: func(t *testing.T, command string) {
					t.Helper()
					if command == "systemctl reload docker" {
						d.reload(t)
						return
					}
					if command != "systemctl restart docker" {
						t.Fatalf("the command is %q", command)
					}
					d.stop(t)
					d.start(t)
				},
				running: func(t *testing.T) {
					t.Helper()
					h.sees(t, c.look(t, "--volume=/dev/null:"+deviceList+"2", "--volume=/dev/null:"+deviceList+"3"), []int{2, 3})
					if row.cdi {
						in := h.inbox(t)
						h.must(t, nil, append([]string{
							"docker", "run", "--rm", "--network=none", "--volume", in.dir + ":" + report.Dir,
							"--device", "metax-tech.com/gpu=5", imageRef,
						}, c.probe...)...)
						h.sees(t, in.report(t), []int{5})
					}
					spare(t)
				},
				bare: func(t *testing.T) {
					t.Helper()
					if r := c.run(t, h.inbox(t)); r.code == 0 || !strings.Contains(r.stderr, "metax") {
						t.Errorf("want no runtime of this name: %v", r)
					}
					spare(t)
				},
			})
			t.Run("broken", func(t *testing.T) { h.refusesBroken(t) })
			t.Run("none", func(t *testing.T) {
				at := h.Path("/etc/docker/daemon.json")
				if err := os.Remove(at); err != nil {
					t.Fatal(err)
				}
				h.must(t, nil, "docker", "run", "--detach", "--rm", "--network=none", "--name", "somebody", imageRef, "/probe", "pause")
				text := h.must(t, nil, "metax-ctk", "runtime", "configure", "--engine", "docker")
				// Of these only Docker 26 has to restart, for its CDI.
				if strings.Contains(text, "that stops 1 container: somebody\n") != (row.suite == "trixie") {
					t.Errorf("the containers that a restart stops:\n%s", text)
				}
				if _, err := os.Stat(at); err != nil {
					t.Error(err)
				}
				h.must(t, nil, "metax-ctk", "runtime", "configure", "--engine", "docker", "--remove")
				if _, err := os.Stat(at); !os.IsNotExist(err) {
					t.Errorf("daemon.json is there after --remove: %v", err)
				}
			})
		})
	}
}

// refusesBroken has an invalid daemon.json: it stays unchanged, and the message has
// line and column of the error.
func (h *host) refusesBroken(t *testing.T) {
	const text = "{\n\t\"debug\": true,\n\t\"labels\": [\"a\",]\n}\n"
	h.write(t, "/etc/docker/daemon.json", text)
	before := h.etc(t)
	for _, option := range []string{"--restart", "--remove", "--dry-run"} {
		r := h.run(t, nil, "metax-ctk", "runtime", "configure", "--engine", "docker", option)
		if r.code != 1 || !strings.Contains(r.stderr, "/etc/docker/daemon.json: line 3, column 16") {
			t.Errorf("%s: want exit code 1 and where it is broken: %v", option, r)
		}
	}
	h.unchanged(t, before, "a broken file")
}

// dockerd starts docker with the configuration that is there.
func (h *host) dockerd(t *testing.T, version string) *daemon {
	t.Helper()
	var got string
	d := h.daemon(t, func(ctx context.Context) (err error) {
		got, err = dockerVersion(ctx, h.Path("/run/docker.sock"))
		return err
	}, "dockerd")
	assertVersion(t, "docker", got, version)
	h.must(t, nil, "docker", "load", "--quiet", "--input", imageFile)
	return d
}

// reload sends SIGHUP, and waits until the daemon has said that it has read its
// configuration.
func (d *daemon) reload(t *testing.T) {
	t.Helper()
	size, err := d.Log.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(d.Log.Name())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text[size.Size():]), "Reloaded configuration") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not reload", d.argv[0])
		}
	}
}
