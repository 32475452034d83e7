// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/needs"
)

var (
	idA = strings.Repeat("a", 64)
	idB = strings.Repeat("b", 64)
)

// zero is a bundle's text with the device that stands for GPU 0.
const zero = `{"annotations": {"metax-tech.com/lease": "0123456789ab"}, "linux": {"devices": [{"path": "/dev/dri/card0", "type": "c", "major": 1, "minor": 5}]}}`

// conmon is the monitor of a container.
func conmon(pid int, id, bundle string, more ...string) fake {
	return fake{pid: pid, command: "conmon", uid: os.Getuid(), start: 7 * pid, argv: append([]string{"/usr/bin/conmon", "-c", id, "-n", "name" + id[:1], "-b", bundle}, more...)}
}

func engine(t *testing.T, p *procfs.Proc, name string, seen map[string]usage.Facts) (usage.Sight, error) {
	t.Helper()
	return look(t, p, name, real(t), usage.Question{Seen: seen})
}

func TestContainers(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a", "config.json"), zero)
	write(t, filepath.Join(root, "b", "config.json"), `{"linux": {}}`)
	a, b := conmon(20, idA, "/a", "--exit-command", "/usr/bin/podman"), conmon(21, idB, "/b")
	a.root, b.root = root, root
	before := a // daemons leave a parent behind for a moment
	before.pid, before.start = 19, a.start-1
	other := conmon(22, strings.Repeat("d", 64), "/a", "--full-attach")
	other.root, other.command = root, "python3"
	session := conmon(23, strings.Repeat("c", 64), "/c", "-e")
	p := procfs.New(tree(
		t, a, b, before, other, session,
		fake{pid: 30, parent: 20, start: 900, command: "left behind"}, fake{pid: 31, parent: 20, start: 800, command: "first"}, fake{pid: 32, parent: 31, start: 700},
		fake{pid: 33, parent: 21, start: 800, command: "first"}, fake{pid: 34, parent: 21, start: 900, command: "left behind"},
	), -1)
	for name, want := range map[string]usage.Container{
		"podman": {Engine: "podman", ID: idA, Facts: usage.Facts{Name: "namea", Lease: "0123456789ab", GPUs: []gpu.BDF{gpu0}}, State: usage.Running, Started: "140", Init: 31},
		"cri-o":  {Engine: "cri-o", ID: idB, Facts: usage.Facts{Name: "nameb"}, State: usage.Running, Started: "147", Init: 33},
	} {
		got, err := look(t, p, name, real(t), usage.Question{Lost: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(usage.Sight{Containers: []usage.Container{want}}, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestContainersAsk checks what a container gets from the runtime shim or a hook: by an
// edited bundle, by one that is not edited yet, and by one that a prestart hook leaves as
// it is.
func TestContainersAsk(t *testing.T) {
	const devices = `"linux": {"devices": [{"path": "/dev/dri/card0", "type": "c", "major": 1, "minor": 5}]}`
	for name, test := range map[string]struct {
		text string
		want []gpu.BDF
		more []string // of conmon's command line
	}{
		"edited":             {text: `{"annotations": {"metax-tech.com/gpu": "0"}, ` + devices + `}`, want: []gpu.BDF{gpu0}},
		"edited, of a mount": {text: `{"mounts": [], ` + devices + `}`, want: []gpu.BDF{gpu0}},
		"not edited":         {text: `{"annotations": {"metax-tech.com/gpu": "all"}, "linux": {}}`, want: []gpu.BDF{gpu0, gpu1}},
		"a mount":            {text: `{"mounts": [{"source": "/dev/null", "destination": "/var/run/metax-container-devices/1"}], "linux": {}}`, want: []gpu.BDF{gpu1}},
		"more than given":    {text: `{"annotations": {"cdi.k8s.io/x": "metax-tech.com/gpu=1"}, ` + devices + `}`, want: []gpu.BDF{gpu0, gpu1}},
		"a word for nothing": {text: `{"annotations": {"metax-tech.com/gpu": "none"}, "linux": {}}`, want: nil},
		"the shim":           {text: `{"annotations": {"metax-tech.com/gpu": "1"}, "linux": {}}`, want: []gpu.BDF{gpu1}, more: []string{"-r", "/usr/local/bin/metax-runtime"}},
		"crun":               {text: `{"annotations": {"metax-tech.com/gpu": "all"}, "mounts": [{"source": "/dev/null", "destination": "/var/run/metax-container-devices/1"}], "linux": {}}`, more: []string{"-r", "/usr/bin/crun"}},
		"runc, given":        {text: `{"annotations": {"metax-tech.com/gpu": "all"}, ` + devices + `}`, want: []gpu.BDF{gpu0}, more: []string{"--runtime", "/usr/sbin/runc"}},
		"runc, and a hook":   {text: `{"annotations": {"metax-tech.com/gpu": "1"}, "hooks": {"prestart": [{"path": "/usr/bin/metax-hook", "args": ["metax-hook", "prestart"]}]}, "linux": {}}`, want: []gpu.BDF{gpu1}, more: []string{"-r", "/usr/bin/runc"}},
		"another runtime":    {text: `{"annotations": {"metax-tech.com/gpu": "1"}, "linux": {}}`, want: []gpu.BDF{gpu1}, more: []string{"-r", "/usr/bin/kata-runtime"}},
	} {
		root := t.TempDir()
		write(t, filepath.Join(root, "config.json"), test.text)
		m := conmon(20, idA, "/", append([]string{"--full-attach"}, test.more...)...)
		m.root = root
		got, err := engine(t, procfs.New(tree(t, m), -1), "podman", nil)
		if err != nil || len(got.Containers) != 1 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		if diff := cmp.Diff(test.want, got.Containers[0].GPUs); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNoContainers(t *testing.T) {
	p := procfs.New(tree(t), -1)
	for _, name := range []string{"podman", "cri-o"} {
		if got, err := engine(t, p, name, nil); err != nil || cmp.Diff(usage.Sight{}, got) != "" {
			t.Errorf("%s: %+v, %v; want nothing, and that for sure", name, got, err)
		}
	}
}

func TestContainersSeen(t *testing.T) {
	known := usage.Facts{Name: "old", GPUs: []gpu.BDF{gpu1}}
	p := procfs.New(tree(t, conmon(20, idA, "/nowhere/at/all", "--full-attach")), -1)
	got, err := engine(t, p, "podman", map[string]usage.Facts{idA: known})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]usage.Container{{Engine: "podman", ID: idA, Facts: known, State: usage.Running, Started: "140"}}, got.Containers); diff != "" {
		t.Error(diff)
	}
}

// What cannot be read is not reported, for its facts would be kept.
func TestBundleTrouble(t *testing.T) {
	root := t.TempDir()
	own := uint32(os.Getuid())
	write(t, filepath.Join(root, "good", "config.json"), zero)
	write(t, filepath.Join(root, "text", "config.json"), "{")
	write(t, filepath.Join(root, "big", "config.json"), zero+strings.Repeat(" ", 4<<20))
	write(t, filepath.Join(root, "directory", "config.json", "file"), "")
	write(t, filepath.Join(root, "fifo", "file"), "")
	if err := unix.Mkfifo(filepath.Join(root, "fifo", "config.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "link", "file"), "")
	link(t, "/good/config.json", filepath.Join(root, "link", "config.json"))
	link(t, "/good", filepath.Join(root, "absolute"))
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, filepath.Join(outside, "config.json"), zero)
	link(t, outside, filepath.Join(root, "escape"))
	link(t, strings.Repeat("../", 20)+outside, filepath.Join(root, "climb"))
	for bundle, want := range map[string]string{
		"/good": "", "/absolute": "", "/": "no such file", "good": "no such file", "": "no such file", "/none": "no such file", "/text": "unexpected end of JSON",
		"/big": "over 4194304 bytes", "/directory": "not a regular file", "/fifo": "not a regular file", "/link": "not a regular file",
		"/escape": "no such file", "/climb": "no such file",
	} {
		m := conmon(20, idA, bundle, "--full-attach")
		m.root, m.uid = root, int(own)
		inside := fake{pid: 21, parent: 20, cgroup: "0::/libpod_parent/libpod-" + idA}
		got, err := engine(t, procfs.New(tree(t, m, inside), -1), "podman", nil)
		switch {
		case want == "":
			if err != nil || len(got.Containers) != 1 || got.Partial {
				t.Errorf("%q: %+v, %v", bundle, got, err)
			}
		case err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "1 container of podman could not be inspected: read "):
			t.Errorf("%q: error is %v, want %q", bundle, err, want)
		case len(got.Containers) != 0 || !got.Partial:
			t.Errorf("%q: %+v", bundle, got)
		}
	}
}

// After its container was removed a monitor stays for a moment, with the command that clears
// away as its child.
func TestRemoved(t *testing.T) {
	m := conmon(20, idA, "/none", "--full-attach")
	m.root = t.TempDir()
	cleanup := fake{pid: 21, parent: 20, command: "podman", cgroup: "0::/machine.slice/libpod-conmon.scope"}
	for name, p := range map[string]*procfs.Proc{"alone": procfs.New(tree(t, m), -1), "cleanup": procfs.New(tree(t, m, cleanup), -1)} {
		if got, err := engine(t, p, "podman", nil); err != nil || cmp.Diff(usage.Sight{}, got) != "" {
			t.Errorf("%s: %+v, %v; want nothing", name, got, err)
		}
	}
}

func TestBundleOwner(t *testing.T) {
	needs.Root(t, "to make files of others")
	for owner, want := range map[int]bool{0: true, 1000: true, 1001: false} {
		root := t.TempDir()
		path := filepath.Join(root, "config.json")
		write(t, path, zero)
		if err := os.Chown(path, owner, owner); err != nil {
			t.Fatal(err)
		}
		m := conmon(20, idA, "/", "--full-attach")
		m.root, m.uid, m.groups = root, 1000, "4 77"
		got, err := engine(t, procfs.New(tree(t, m), 77), "podman", nil)
		if seen := len(got.Containers) == 1; seen != want || seen == (err != nil) {
			t.Errorf("owner %d: %+v, %v", owner, got, err)
		}
	}
}

// Any user can call a process conmon, with the container of another user on its command
// line.
func TestTrusted(t *testing.T) {
	needs.Root(t, "to make processes of others")
	for name, test := range map[string]struct {
		uid, group int
		groups     string
		want       bool
	}{
		"root":         {0, 77, "", true},
		"no group":     {1000, -1, "4 77 4294967295", false},
		"other groups": {1000, 77, "4 7 777", false},
		"group":        {1000, 77, "4 77", true},
		"own group":    {1000, 1000, "", true},
	} {
		root := t.TempDir()
		write(t, filepath.Join(root, "config.json"), zero)
		m := conmon(20, idA, "/", "--full-attach")
		m.root, m.uid, m.groups = root, test.uid, test.groups
		claimant := fake{pid: 21, uid: test.uid, groups: test.groups, argv: leaseLabels("0123456789ab", "0")}
		shim := fake{pid: 22, command: "containerd-shim", uid: test.uid, groups: test.groups, cwd: filepath.Join(root, "io.containerd.runtime.v2.task", "ns", "id")}
		write(t, filepath.Join(shim.cwd, "config.json"), "")
		p := procfs.New(tree(t, m, claimant, shim), test.group)
		got, err := engine(t, p, "podman", nil)
		if err != nil || len(got.Containers) == 1 != test.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		sight, err := look(t, p, "processes", real(t), usage.Question{Lost: true})
		if err != nil || len(sight.Claimants) == 1 != test.want {
			t.Errorf("%s: %+v, %v", name, sight, err)
		}
		tasks, err := p.Tasks()
		if err != nil || len(tasks) == 1 != test.want {
			t.Errorf("%s: %+v, %v", name, tasks, err)
		}
	}
}

func leaseLabels(lease, gpus string) []string {
	return []string{"docker", "run", "--label=metax-tech.com/lease=" + lease, "--label=metax-tech.com/gpus=" + gpus, "image"}
}

func TestClaimants(t *testing.T) {
	client := start(t, nil, nil, leaseLabels("0123456789ab", "1,0,7")...)
	child := start(t, nil, nil, leaseLabels("0123456789ab", "0")...) // who runs on its behalf
	start(t, nil, nil, leaseLabels("no lease", "0")...)
	start(t, nil, nil, leaseLabels("ba9876543210", "7")...) // the node has no such GPU
	p := procfs.New("/proc", -1)
	c, err := p.Client(client.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ofChild, err := p.Client(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	uid := uint32(os.Getuid())
	want := []usage.Claimant{{Client: c, UID: uid, Lease: "0123456789ab", GPUs: []gpu.BDF{gpu0, gpu1}}, {Client: ofChild, UID: uid, Lease: "0123456789ab", GPUs: []gpu.BDF{gpu0}}}
	got, _ := look(t, p, "processes", real(t), usage.Question{Lost: true})
	if diff := cmp.Diff(want, got.Claimants); diff != "" {
		t.Error(diff)
	}
	if got, _ := look(t, p, "processes", real(t), usage.Question{}); got.Claimants != nil {
		t.Errorf("nobody asked for %+v", got.Claimants)
	}
	client.die(t)
	got, _ = look(t, p, "processes", real(t), usage.Question{Lost: true})
	if len(got.Claimants) != 1 || got.Claimants[0].PID != child.Process.Pid {
		t.Errorf("after the client's end: %+v", got.Claimants)
	}
}

// A process that is about to become a client is waited for, as only its command line will
// tell of its lease.
func TestClaimantToBe(t *testing.T) {
	p := procfs.New("/proc", -1)
	client := start(t, nil, []string{becomes + "=1"}, leaseLabels("0123456789ab", "0")...)
	unfinished(t, p, client.Process.Pid)
	client.stdin.Write([]byte("x"))
	got, err := look(t, p, "processes", real(t), usage.Question{Lost: true})
	if err != nil && !errors.Is(err, fs.ErrPermission) || len(got.Claimants) != 1 || got.Claimants[0].PID != client.Process.Pid {
		t.Errorf("after it became one: %+v, %v", got, err)
	}
}

// In the middle of execve, the command line of a process is empty, as it always is with a
// thread of the kernel and a process that has ended.
func TestClaimantInExec(t *testing.T) {
	dir := tree(
		t, fake{pid: 20, command: "docker", state: "R"},
		fake{pid: 21, command: "kworker", state: "R", flags: 0x200000}, fake{pid: 22, command: "metax-leased", state: "Z"},
	)
	p := procfs.New(dir, -1)
	unfinished(t, p, 20)
	write(t, filepath.Join(dir, "20", "cmdline"), words(leaseLabels("0123456789ab", "0")...))
	got, err := look(t, p, "processes", real(t), usage.Question{Lost: true})
	if err != nil || len(got.Claimants) != 1 {
		t.Errorf("after it: %+v, %v", got, err)
	}
}

// unfinished asserts that a look for clients waits for a process, and names it. On a busy
// machine a short look may end before it has seen the process, so it gets more time.
func unfinished(t *testing.T, p *procfs.Proc, pid int) {
	t.Helper()
	var got usage.Sight
	var err error
	for wait := 50 * time.Millisecond; wait < 10*time.Second; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		got, err = p.Sources(real(t))[0].Look(ctx, usage.Question{Lost: true})
		cancel()
		if !errors.Is(err, usage.ErrUnfinished) || !got.Partial || len(got.Claimants) > 0 {
			break
		}
		if strings.Contains(err.Error(), "process "+strconv.Itoa(pid)+" (") {
			return
		}
	}
	t.Errorf("before: %+v, %v", got, err)
}

// A container's process has no say about leases, though its user be root.
func TestClaimantInContainer(t *testing.T) {
	long := append([]string{"docker", "run"}, strings.Repeat("x", 100<<10))
	p := procfs.New(tree(
		t,
		fake{pid: 20, depth: 1, argv: leaseLabels("0123456789ab", "0")},
		fake{pid: 21, argv: append(leaseLabels("ba9876543210", "1"), long...)},
		fake{pid: 24, start: 900, argv: leaseLabels("dddddddddddd", "1")},
		fake{pid: 25, start: 800, argv: leaseLabels("dddddddddddd", "1")}, // who copied it, or started it
		// Here the end of what is read falls into the indices.
		fake{pid: 22, argv: []string{strings.Repeat("x", 128<<10-82), "--label=metax-tech.com/lease=cccccccccccc", "--label=metax-tech.com/gpus=0,1,2,3,4,5,6,7"}},
	), -1)
	got, err := look(t, p, "processes", real(t), usage.Question{Lost: true})
	if err != nil {
		t.Fatal(err)
	}
	var leases []string
	for _, c := range got.Claimants {
		leases = append(leases, c.Lease+" "+strconv.Itoa(c.PID))
	}
	if diff := cmp.Diff([]string{"ba9876543210 21", "dddddddddddd 24", "dddddddddddd 25"}, leases); diff != "" {
		t.Error(diff)
	}
}
