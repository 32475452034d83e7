// SPDX-License-Identifier: Apache-2.0

package enginesetup

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const (
	socket = "/run/containerd/containerd.sock"
	main   = "/etc/containerd/config.toml"
	before = "version = 3\n# by hand\n[grpc]\n  address = '/run/containerd/containerd.sock'\n"
)

// node is a host whose containerd runs.
type node struct {
	Engines
	t    *testing.T
	runs []string // what was run
	// restart is what happens when systemd restarts containerd.
	restart func() error
	// active is the script of systemctl is-active, which succeeds for an engine that runs.
	active string
}

func newNode(t *testing.T, files map[string]string) *node {
	t.Helper()
	n := &node{t: t}
	all := map[string]string{"/usr/bin/containerd": "", "/usr/bin/systemctl": "", "/var/lib/kubelet/config.yaml": "", "/proc/7/cmdline": "/usr/bin/containerd\x00", main: before, socket: ""}
	for name, text := range files {
		all[name] = text
	}
	dir, programs := t.TempDir(), t.TempDir()
	root := simtest.Root(t, dir)
	n.Engines = Engines{Root: root, Run: n.run, Programs: programs, Log: slog.New(slog.DiscardHandler)}
	for name, text := range all {
		n.write(name, text)
	}
	for _, name := range []string{runtimeName, hookName} {
		testfile.Write(t, filepath.Join(programs, name), name, 0o755)
	}
	n.restart = func() error { n.start(); return nil }
	n.start()
	return n
}

func (n *node) write(name, text string) {
	n.t.Helper()
	at := n.Root.Join(name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
		n.t.Fatal(err)
	}
}

// process gives a process a mount namespace and a program.
func (n *node) process(pid, mounts, program string) {
	n.t.Helper()
	n.write("/proc/"+pid+"/ns/x", "")
	for link, to := range map[string]string{"ns/mnt": mounts, "exe": program} {
		at := n.Root.Join("/proc/" + pid + "/" + link)
		if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			n.t.Fatal(err)
		}
		if err := os.Symlink(to, at); err != nil {
			n.t.Fatal(err)
		}
	}
}

// TestNamedMonitor: a process that calls itself conmon, in a container or with another
// program, holds nothing up.
func TestNamedMonitor(t *testing.T) {
	n := newNode(t, nil)
	n.write("/proc/8/cmdline", "/usr/bin/conmon\x00-r\x00"+runtimePath()+"\x00")
	n.process("1", "mnt:[1]", "/usr/lib/systemd/systemd")
	for _, test := range []struct {
		mounts, program string
		want            int
	}{{"mnt:[1]", "/usr/bin/conmon", 1}, {"mnt:[2]", "/usr/bin/conmon", 0}, {"mnt:[1]", "/usr/bin/sleep", 0}} {
		n.process("8", test.mounts, test.program)
		if got, err := n.countRuntimeUsers(); got != test.want || err != nil {
			t.Errorf("%+v: %d, %v", test, got, err)
		}
	}
}

// start gives containerd's socket a time after everything that was written.
func (n *node) start() {
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(n.Root.Join(socket), later, later); err != nil {
		n.t.Fatal(err)
	}
}

// age makes the socket older than what is written from now on.
func (n *node) age() {
	earlier := time.Now().Add(-time.Hour)
	if err := os.Chtimes(n.Root.Join(socket), earlier, earlier); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) run(_ context.Context, program string, args ...string) ([]byte, error) {
	line := strings.Join(append([]string{path.Base(program)}, args...), " ")
	switch {
	case line == "containerd --version":
		return []byte("containerd github.com/containerd/containerd/v2 2.1.4 x"), nil
	case strings.HasPrefix(line, "systemctl is-active"):
		return exec.Command("sh", "-c", n.active).Output()
	case strings.HasPrefix(line, "systemctl"):
		n.runs = append(n.runs, line)
		return nil, n.restart()
	}
	return nil, errors.New("not here")
}

// etc are the files below /etc with their contents.
func (n *node) etc() map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(n.Root.Join("/etc"), func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(at)
		files[strings.TrimPrefix(at, n.Root.Dir())] = string(text)
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return files
}

// is checks a report, and that its message contains a text.
func (n *node) is(r report.Report, ready bool, reason, text string) {
	n.t.Helper()
	if r.Ready != ready || r.Reason != reason || !strings.Contains(r.Message, text) {
		n.t.Errorf("got %t %s %q, want %t %s with %q", r.Ready, r.Reason, r.Message, ready, reason, text)
	}
}

// TestLife sets containerd up where systemd runs, and takes it back.
func TestLife(t *testing.T) {
	n := newNode(t, map[string]string{"/run/systemd/system/x": ""})
	ctx, etc := t.Context(), n.etc()
	n.is(n.SetUp(ctx, false), false, Changed, "containerd is not set up")
	if d := cmp.Diff(etc, n.etc()); d != "" {
		t.Errorf("files are changed before the turn:\n%s", d)
	}
	n.age()
	n.is(n.SetUp(ctx, true), true, "", "containerd has the runtime metax")
	n.is(n.SetUp(ctx, true), true, "", "containerd has the runtime metax")
	n.is(n.SetUp(ctx, false), true, "", "")
	if d := cmp.Diff([]string{"systemctl restart containerd"}, n.runs); d != "" {
		t.Errorf("restarts:\n%s", d)
	}
	if text, err := n.Root.ReadFile(runtimePath()); err != nil || string(text) != runtimeName {
		t.Errorf("the program is %q: %v", text, err)
	}
	// A new version of the programs restarts nothing.
	testfile.Write(t, filepath.Join(n.Programs, runtimeName), "newer", 0o755)
	n.is(n.SetUp(ctx, true), true, "", "")
	task := "/run/containerd/io.containerd.runtime.v2.task/k8s.io/abc/runtime"
	n.write(task, runtimePath())
	n.is(n.TakeBack(ctx), false, InUse, "1 containers were started by "+runtimePath())
	n.write(task, "/usr/bin/runc")
	n.write("/proc/8/cmdline", "/usr/bin/conmon\x00-r\x00"+runtimePath()+"\x00")
	n.process("1", "mnt:[1]", "/usr/lib/systemd/systemd")
	n.process("8", "mnt:[1]", "/usr/bin/conmon (deleted)")
	n.is(n.TakeBack(ctx), false, InUse, "1 containers")
	if err := os.RemoveAll(n.Root.Join("/proc/8")); err != nil {
		t.Fatal(err)
	}
	n.is(n.TakeBack(ctx), true, "", "")
	if d := cmp.Diff(etc, n.etc()); d != "" {
		t.Errorf("files before (-) and after (+):\n%s", d)
	}
	if n.Root.Exists(Dir) || len(n.runs) != 1 {
		t.Errorf("%s is there: %t; restarts: %q", Dir, n.Root.Exists(Dir), n.runs)
	}
	n.is(n.TakeBack(ctx), true, "", "")
}

// TestNotRunning sets up an engine that does not run, and does not start it. Where systemd
// gives no answer, nothing is changed.
func TestNotRunning(t *testing.T) {
	n := newNode(t, map[string]string{"/run/systemd/system/x": ""})
	files := n.etc()
	n.active = "echo no bus >&2; exit 1"
	n.is(n.SetUp(t.Context(), true), false, Failed, "ask systemd whether containerd runs: exit status 1")
	if d := cmp.Diff(files, n.etc()); d != "" {
		t.Error(d)
	}
	n.active = "exit 3"
	n.is(n.SetUp(t.Context(), true), true, "", "containerd has the runtime metax")
	if len(n.runs) > 0 || cmp.Equal(files, n.etc()) {
		t.Errorf("it ran %q", n.runs)
	}
}

// TestByHand has no systemd: somebody restarts the engine.
func TestByHand(t *testing.T) {
	n := newNode(t, nil)
	n.age()
	n.is(n.SetUp(t.Context(), true), false, RestartNeeded, "restart the engine yourself")
	n.is(n.SetUp(t.Context(), false), false, RestartNeeded, "systemctl restart containerd on this node")
	n.start()
	n.is(n.SetUp(t.Context(), false), true, "", "")
}

// TestRestartFails sets the files back.
func TestRestartFails(t *testing.T) {
	n := newNode(t, map[string]string{"/run/systemd/system/x": ""})
	etc := n.etc()
	n.age()
	n.restart = func() error {
		if len(n.runs) == 1 {
			return errors.New("exit status 1")
		}
		return nil
	}
	n.is(n.SetUp(t.Context(), true), false, RestartFailed, "exit status 1; its files are as before")
	if d := cmp.Diff(etc, n.etc()); d != "" {
		t.Errorf("files before (-) and after (+):\n%s", d)
	}
	if len(n.runs) != 2 {
		t.Errorf("restarts: %q", n.runs)
	}
}

// TestDefault makes metax the default runtime. It is not left as that while containers keep it
// from going.
func TestDefault(t *testing.T) {
	n := newNode(t, nil)
	n.Default = true
	n.is(n.SetUp(t.Context(), true), false, Refused, "systemd does not run here")
	n = newNode(t, map[string]string{"/run/systemd/system/x": ""})
	n.Default = true
	etc := n.etc()
	n.age()
	n.is(n.SetUp(t.Context(), true), true, "", "")
	task := "/run/containerd/io.containerd.runtime.v2.task/k8s.io/abc/runtime"
	n.write(task, runtimePath())
	n.is(n.TakeBack(t.Context()), false, InUse, "1 containers")
	n.is(n.TakeBack(t.Context()), false, InUse, "1 containers")
	if len(n.runs) != 2 {
		t.Errorf("restarts: %q", n.runs)
	}
	n.write(task, "/usr/bin/runc")
	n.is(n.TakeBack(t.Context()), true, "", "")
	if d := cmp.Diff(etc, n.etc()); d != "" || len(n.runs) != 2 {
		t.Errorf("restarts %q; files before (-) and after (+):\n%s", n.runs, d)
	}
}

// TestLeftAlone has engines that cannot be set up, or are somebody else's.
func TestLeftAlone(t *testing.T) {
	runtime := func(program string) string {
		return "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.metax]\nruntime_type = 'io.containerd.runc.v2'\noptions.BinaryName = '" + program + "'\n"
	}
	for what, test := range map[string]struct {
		text   string
		ready  bool
		reason string
		want   string
	}{
		"a newer version":  {"version = 4\n", false, Refused, "version 4: this containerd reads only older versions"},
		"no TOML":          {"version = = 3\n", false, Refused, "containerd: "},
		"the node's own":   {runtime("/usr/bin/metax-runtime"), true, Host, "has the node's own /usr/bin/metax-runtime"},
		"another's":        {runtime("/opt/x/mx-container-runtime"), false, NameTaken, "/opt/x/mx-container-runtime has the name metax"},
		"a link elsewhere": {"", false, Refused, "/etc/containerd/config.toml"},
	} {
		t.Run(what, func(t *testing.T) {
			n := newNode(t, map[string]string{main: test.text, "/run/systemd/system/x": "", "/srv/config.toml": before})
			if test.text == "" {
				if err := errors.Join(os.Remove(n.Root.Join(main)), os.Symlink("../../srv/config.toml", n.Root.Join(main))); err != nil {
					t.Fatal(err)
				}
			}
			etc := n.etc()
			n.is(n.SetUp(t.Context(), true), test.ready, test.reason, test.want)
			if r := n.TakeBack(t.Context()); !r.Ready && r.Reason != Failed {
				t.Errorf("%+v", r)
			}
			if d := cmp.Diff(etc, n.etc()); d != "" || len(n.runs) > 0 {
				t.Errorf("%q\n%s", n.runs, d)
			}
		})
	}
}

func TestNoEngine(t *testing.T) {
	n := newNode(t, nil)
	for _, name := range []string{"/usr/bin/containerd", main} {
		if err := os.Remove(n.Root.Join(name)); err != nil {
			t.Fatal(err)
		}
	}
	n.is(n.SetUp(t.Context(), true), false, NoEngine, "no container engine was found")
}
