// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// lowLevel is a low-level runtime of the matrix.
type lowLevel struct {
	suite   string
	name    string
	version string
	layouts []sandbox.Layout
}

var lowLevels = []lowLevel{
	{"bookworm", "runc", "1.1.5", []sandbox.Layout{sandbox.V1, sandbox.V2}},
	{"trixie", "runc", "1.1.15", []sandbox.Layout{sandbox.V1, sandbox.V2}},
	{"sid", "runc", "1.3.", []sandbox.Layout{sandbox.V1, sandbox.V2}},
	{"bookworm", "crun", "1.8.1", []sandbox.Layout{sandbox.V1, sandbox.V2}},
	{"trixie", "crun", "1.21", []sandbox.Layout{sandbox.V1, sandbox.V2}},
	{"sid", "crun", "1.28", []sandbox.Layout{sandbox.V1, sandbox.V2}},
}

// eachLowLevel runs a test with each low-level runtime and cgroup layout, as root and in a
// user namespace.
func eachLowLevel(t *testing.T, test func(t *testing.T, b *bundle)) {
	for _, row := range lowLevels {
		for _, layout := range row.layouts {
			t.Run(fmt.Sprintf("%s/%s/%s", row.suite, row.name, layout), func(t *testing.T) {
				t.Parallel()
				h := newHost(t, row.suite, layout)
				version := strings.Fields(h.must(t, nil, row.name, "--version"))
				assertVersion(t, row.name, version[2], row.version)
				for _, user := range []string{"root", "userns"} {
					t.Run(user, func(t *testing.T) {
						test(t, h.bundle(t, row.name, user == "userns"))
					})
				}
			})
		}
	}
}

// bundle is a container without an engine: the input of a low-level runtime.
type bundle struct {
	*host
	runtime string
	dir     string // as the runtime sees it
	in      inbox
	config  object
}

// object is a JSON object.
type object = map[string]any

// firstID is where a user namespace's ids begin on the machine.
const firstID = 100000

// bundle makes one whose process is the probe, with the device rules that engines give: all
// is denied but the usual nodes, and mknod is allowed.
func (h *host) bundle(t *testing.T, runtime string, userns bool) *bundle {
	t.Helper()
	b := &bundle{host: h, runtime: runtime, in: h.inbox(t)}
	b.dir = fmt.Sprintf("/run/bundles/%d", inboxes.Add(1))
	root := h.Path(b.dir + "/rootfs")
	for _, dir := range []string{"", "dev", "proc", "sys", "tmp", "etc", "opt"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"probe", "stage"} {
		program, err := os.ReadFile(filepath.Join(fixed.bin, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	caps := []string{"CAP_MKNOD", "CAP_DAC_OVERRIDE", "CAP_CHOWN"}
	namespaces := []object{{"type": "mount"}, {"type": "pid"}, {"type": "ipc"}, {"type": "uts"}}
	linux := object{
		"cgroupsPath": fmt.Sprintf("%s/%s", h.Cgroup(), filepath.Base(b.dir)),
		"resources":   object{"devices": []object{{"allow": false, "access": "rwm"}}},
	}
	if userns {
		mapping := []object{{"containerID": 0, "hostID": firstID, "size": 65536}}
		linux["uidMappings"], linux["gidMappings"] = mapping, mapping
		namespaces = append(namespaces, object{"type": "user"})
		err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chown(path, firstID, firstID)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	linux["namespaces"] = namespaces
	b.config = object{
		"ociVersion": "1.0.2",
		"root":       object{"path": "rootfs"},
		"process": object{
			"args": append(look(), h.numbers(t)...), "cwd": "/", "env": []string{"PATH=/"},
			"user":         object{"uid": 0, "gid": 0},
			"capabilities": object{"bounding": caps, "effective": caps, "permitted": caps},
		},
		"mounts": []object{
			{"destination": "/proc", "type": "proc", "source": "proc"},
			{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755"}},
			{"destination": report.Dir, "type": "bind", "source": b.in.dir, "options": []string{"rbind", "rw"}},
		},
		"linux": linux,
	}
	return b
}

// nodesFile is what the container's process finds in /dev/dri.
const nodesFile = "nodes.json"

func look() []string {
	return []string{"/stage", "nodes", filepath.Join(report.Dir, nodesFile), "/probe", "look"}
}

// hook adds a hook of the stage.
func (b *bundle) hook(stage string, argv ...string) {
	hooks, _ := b.config["hooks"].(object)
	if hooks == nil {
		hooks = object{}
		b.config["hooks"] = hooks
	}
	list, _ := hooks[stage].([]object)
	hooks[stage] = append(list, object{"path": argv[0], "args": argv, "env": []string{"METAX_HOOK=1"}})
}

// start runs the container to its end. What hooks say is in its standard error, where runc
// puts it itself; crun has to be asked.
func (b *bundle) start(t *testing.T) result {
	t.Helper()
	const said = "/said"
	annotations, _ := b.config["annotations"].(object)
	if annotations == nil {
		annotations = object{}
		b.config["annotations"] = annotations
	}
	annotations["run.oci.hooks.stderr"] = b.in.dir + said
	text, err := json.Marshal(b.config)
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, b.dir+"/config.json", string(text))
	r := b.run(t, nil, b.runtime, "run", "--bundle", b.dir, filepath.Base(b.dir))
	if text, err := os.ReadFile(b.in.path + said); err == nil {
		r.stderr += string(text)
	}
	return r
}

// What a hook that brings nodes into a container relies on: the runtime has made the
// container's mounts and set its device rules, and has not pivoted.
func TestHookStages(t *testing.T) {
	type finding struct {
		Status                                            string
		Pid, Bundle, Host, Own, Pivoted, Dev, Null, Rules bool
	}
	eachLowLevel(t, func(t *testing.T, b *bundle) {
		for _, stage := range []string{"prestart", "createRuntime"} {
			b.hook(stage, sandbox.BinDir+"/stage", b.in.dir+"/"+stage)
		}
		if r := b.start(t); r.code != 0 {
			t.Fatal(r)
		}
		for _, stage := range []string{"prestart", "createRuntime"} {
			text, err := os.ReadFile(filepath.Join(b.in.path, stage))
			if err != nil {
				t.Errorf("%s was not run: %v", stage, err)
				continue
			}
			var got finding
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %+v", stage, got)
			want := finding{Status: got.Status, Pid: true, Bundle: got.Bundle, Host: true, Own: true, Dev: true, Null: true, Rules: true}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", stage, diff)
			}
		}
	})
}

// open is the error of opening a GPU's node in these containers, where no driver has
// the device number: the device rules allow the call.
const openedNode = "ENXIO"

// With nothing but a hook, a container gets the GPUs of its annotation and those alone, in
// both stages, and not for good: the rules that the runtime set still hold for the others.
func TestHookPrestart(t *testing.T) {
	eachLowLevel(t, func(t *testing.T, b *bundle) {
		hook := []string{sandbox.BinDir + "/metax-hook", "prestart"}
		userns := b.config["linux"].(object)["uidMappings"] != nil
		for _, stage := range []string{"prestart", "createRuntime"} {
			t.Run(stage, func(t *testing.T) {
				b := b.host.bundle(t, b.runtime, userns)
				b.hook(stage, hook...)
				b.config["annotations"] = object{"metax-tech.com/gpu": "1,3"}
				if userns {
					// Group video has no id in there, which the hook reports, and
					// nothing starts.
					if r := b.start(t); r.code == 0 || !strings.Contains(r.stderr, "metax-hook: prestart: device node /dev/") {
						t.Errorf("a closed node in a user namespace: %v", r)
					}
					b.chmod(t, 0o666)
					defer b.chmod(t, 0o660)
					b.id(t)
				}
				if r := b.start(t); r.code != 0 {
					t.Fatal(r)
				}
				b.given(t, userns, 1, 3)
			})
		}
		t.Run("no request", func(t *testing.T) {
			b := b.host.bundle(t, b.runtime, userns)
			b.hook("prestart", hook...)
			if r := b.start(t); r.code != 0 {
				t.Fatal(r)
			}
			b.given(t, userns)
		})
		t.Run("read-only root", func(t *testing.T) {
			if userns {
				b.chmod(t, 0o666)
				defer b.chmod(t, 0o660)
			}
			b := b.host.bundle(t, b.runtime, userns)
			b.hook("prestart", hook...)
			b.config["root"] = object{"path": "rootfs", "readonly": true}
			b.config["process"].(object)["args"] = look() // no node can be made there
			b.config["annotations"] = object{"metax-tech.com/gpu": "1,3"}
			if r := b.start(t); r.code != 0 {
				t.Fatal(r)
			}
			b.given(t, userns, 1, 3)
		})
		t.Run("killed", func(t *testing.T) {
			// The container either starts right or not at all.
			if userns {
				b.chmod(t, 0o666)
				defer b.chmod(t, 0o660)
			}
			ends := map[bool]int{}
			for _, after := range []string{"1ms", "2ms", "3ms", "4ms", "6ms", "10ms", "1m"} {
				b := b.host.bundle(t, b.runtime, userns)
				b.hook("prestart", append([]string{sandbox.BinDir + "/stage", "killed", after}, hook...)...)
				b.config["annotations"] = object{"metax-tech.com/gpu": "1,3"}
				before := b.mounts(t)
				r := b.start(t)
				_, err := os.Stat(filepath.Join(b.in.path, report.Look))
				started := err == nil
				if ends[started]++; started {
					b.given(t, userns, 1, 3)
				}
				if started != (r.code == 0) {
					t.Errorf("started: %t, and the runtime says %v", started, r)
				}
				if diff := cmp.Diff(before, b.mounts(t)); diff != "" {
					t.Errorf("the machine's mounts: %s", diff)
				}
			}
			if ends[true] == 0 || ends[false] == 0 {
				t.Errorf("started: %v; that says nothing", ends)
			}
		})
		t.Run("unknown GPU", func(t *testing.T) {
			b := b.host.bundle(t, b.runtime, userns)
			b.hook("prestart", hook...)
			b.config["annotations"] = object{"metax-tech.com/gpu": "77"}
			if r := b.start(t); r.code == 0 || !strings.Contains(r.stderr, "metax-tech.com/gpu=77") {
				t.Error(r)
			}
			if _, err := os.Stat(filepath.Join(b.in.path, report.Look)); err == nil {
				t.Error("the container has started")
			}
		})
		if userns {
			return
		}
		t.Run("other user", func(t *testing.T) {
			b := b.host.bundle(t, b.runtime, userns)
			b.hook("prestart", hook...)
			b.config["annotations"] = object{"metax-tech.com/gpu": "1"}
			process := b.config["process"].(object)
			process["args"] = look()
			process["user"] = object{"uid": 1000, "gid": 1000}
			if r := b.start(t); r.code == 0 || !strings.Contains(r.stderr, "--group-add 44") {
				t.Error(r)
			}
			process["user"] = object{"uid": 1000, "gid": 1000, "additionalGids": []int{videoGID}}
			b.id(t)
			if r := b.start(t); r.code != 0 {
				t.Fatal(r)
			}
		})
	})
}

// mounts are those of the machine.
func (b *bundle) mounts(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(b.Path("/proc/1/mountinfo"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// id gives the container another name, for the next start.
func (b *bundle) id(t *testing.T) {
	t.Helper()
	dir := fmt.Sprintf("%s-%d", b.dir, inboxes.Add(1))
	if err := os.Rename(b.Path(b.dir), b.Path(dir)); err != nil {
		t.Fatal(err)
	}
	b.dir = dir
}

// chmod opens or closes the GPUs' nodes of the machine.
func (b *bundle) chmod(t *testing.T, mode os.FileMode) {
	t.Helper()
	err := filepath.WalkDir(b.Path(nodeDir+"/dev"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Type()&os.ModeDevice == 0 {
			return err
		}
		return os.Chmod(path, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// given checks that the container had these GPUs, with the driver if any, and no more.
func (b *bundle) given(t *testing.T, userns bool, gpus ...int) {
	t.Helper()
	r := b.in.report(t)
	want, allowed := map[string]string{}, map[string]bool{}
	kind := os.ModeDevice | os.ModeCharDevice
	if userns {
		kind = 0
	}
	for _, g := range gpus {
		for _, path := range b.gpus[g].Nodes {
			major, minor := b.number(t, path)
			want[path] = fmt.Sprintf("%d:%d %s %s", major, minor, kind, openedNode)
			allowed[fmt.Sprintf("%d:%d", major, minor)] = true
		}
	}
	text, err := os.ReadFile(filepath.Join(b.in.path, nodesFile))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes: %s", diff)
	}
	if !userns { // where nobody makes nodes
		for _, n := range r.Made {
			want := map[bool]string{true: openedNode, false: "EPERM"}[allowed[fmt.Sprintf("%d:%d", n.Major, n.Minor)]]
			if n.Mknod != "" || n.Open != want {
				t.Errorf("made %d:%d: %q, opened: %q, want %q", n.Major, n.Minor, n.Mknod, n.Open, want)
			}
		}
	}
	if wrote := map[bool]string{true: "EROFS"}[len(gpus) > 0]; r.DriverWrite != wrote || (len(r.Driver) > 0) != (len(gpus) > 0) {
		t.Errorf("the driver has %v, and writing says %q, want %q", r.Driver, r.DriverWrite, wrote)
	}
}
