// SPDX-License-Identifier: Apache-2.0

package podman_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/podman"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// roots are the root directories with a Podman that test/e2e/run has unpacked.
func roots(t *testing.T) []string {
	t.Helper()
	needs.Root(t, "to mount and to chroot")
	dir := needs.Env(t, "METAX_E2E_ROOTS", "with the engines that test/e2e/run unpacks")
	found, _ := filepath.Glob(filepath.Join(dir, "*", "usr", "bin", "podman"))
	var roots []string
	for _, path := range found {
		roots = append(roots, strings.TrimSuffix(path, "/usr/bin/podman"))
	}
	if len(roots) == 0 {
		t.Fatalf("no Podman among the engines unpacked in %s", dir)
	}
	return roots
}

// The programs of a stage: a runtime that writes down the configuration of the
// container that it is to make, and makes none; and a hook that writes down that it
// ran. There is little more than a shell in the root directories.
const (
	runtime = `#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = --bundle ] && bundle=$2; shift; done
[ -n "$bundle" ] || exit 1
while IFS= read -r line || [ -n "$line" ]; do printf '%s\n' "$line"; done < $bundle/config.json > /run/out/config.json
echo ${0##*/} > /run/out/runtime
exit 1
`
	hook = `#!/bin/sh
echo "$@" > /run/out/hook
while IFS= read -r line || [ -n "$line" ]; do printf '%s\n' "$line"; done
`
	spec = `{"cdiVersion": "0.5.0", "kind": "metax-tech.com/gpu", "devices": [{"name": "g0", "containerEdits": {"env": ["METAX=g0"]}}]}`
	conf = `[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
runtime_supports_nocgroup = ["crun", "metax"]
[engine.runtimes]
crun = ["/run/bin/crun"]
[containers]
cgroups = "disabled"
netns = "none"
pids_limit = 0
`
	policy = `{"default": [{"type": "insecureAcceptAnything"}]}`
	// enter has the files below $2 in the root directory $1, which stays as it is.
	enter = `set -e
mount --make-rprivate /
for dir in etc usr/share; do mount -t tmpfs tmpfs $1/$dir/containers; done
for dir in etc/cdi run tmp var/lib; do [ ! -e $1/$dir ] || mount -t tmpfs tmpfs $1/$dir; done
mount -t proc proc $1/proc; mount --rbind /dev $1/dev; mount --rbind /sys $1/sys
cp -a $2/. $1/; mkdir -p $1/run/out $1/run/rootfs/bin $1/run/rootfs/proc
mount --bind $1/run $1/var/run
root=$1; out=$3; shift 3
chroot $root /usr/bin/podman --storage-driver=vfs "$@" >$out/stdout 2>&1 </dev/null || true
cp -a $root/run/out/. $out/
`
)

// stage runs a Podman with some files; what it wrote down is by file name.
func stage(t *testing.T, root string, in podman.Input, args ...string) map[string]string {
	t.Helper()
	dir, out := t.TempDir(), t.TempDir()
	files := []dropin.File{
		in.Main,
		{Path: "/etc/containers/policy.json", Text: []byte(policy)},
		{Path: "/run/cdi/metax.json", Text: []byte(spec)},
		{Path: "/run/bin/crun", Text: []byte(runtime)},
		{Path: "/run/bin/metax-runtime", Text: []byte(runtime)},
		{Path: "/run/bin/metax-hook", Text: []byte(hook)},
		{Path: "/run/rootfs/bin/x", Text: []byte("#!")},
	}
	for _, f := range append(append(files, in.DropIns...), in.Hooks...) {
		path := filepath.Join(dir, f.Path)
		testfile.Write(t, path, f.Text, 0o755)
	}
	c := exec.Command("unshare", append([]string{"--mount", "sh", "-c", enter, "sh", root, dir, out}, args...)...)
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	wrote := map[string]string{}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text := testfile.Text(t, filepath.Join(out, e.Name()))
		wrote[e.Name()] = strings.TrimSpace(text)
	}
	return wrote
}

// TestReal runs a real Podman with the files that we write, and without them.
func TestReal(t *testing.T) {
	for _, root := range roots(t) {
		t.Run(filepath.Base(root), func(t *testing.T) {
			in := podman.Input{Main: dropin.File{Path: podman.Main, Text: []byte(conf)}}
			in.Version = engine.ParseVersion(stage(t, root, in, "--version")["stdout"])
			if !in.Version.Known() {
				t.Fatal("no version")
			}
			s := engine.Setup{Name: "metax", Runtime: "/run/bin/metax-runtime", Hook: "/run/bin/metax-hook", CDI: true, Default: true}
			changes, err := podman.Configure(in, s)
			if err != nil {
				t.Fatal(err)
			}
			run := func(in podman.Input, options ...string) map[string]string {
				return stage(t, root, in, append(append([]string{"run", "--rm", "--rootfs"}, options...), "/run/rootfs", "/bin/x")...)
			}
			annotation := "--annotation=metax-tech.com/gpu=0"
			before := run(in, annotation)
			if before["runtime"] != "crun" || before["hook"] != "" {
				t.Errorf("before: runtime %q, hook %q\n%s", before["runtime"], before["hook"], before["stdout"])
			}
			after := run(apply(in, changes), annotation)
			want := ""
			if in.Version.AtLeast(5, 0) {
				want = "precreate"
			}
			if after["runtime"] != "metax-runtime" || after["hook"] != want {
				t.Errorf("runtime %q, hook %q, want metax-runtime and %q\n%s", after["runtime"], after["hook"], want, after["stdout"])
			}
			if other := run(apply(in, changes)); other["hook"] != "" || other["runtime"] == "" {
				t.Errorf("without an annotation: %v", other)
			}
			device := run(apply(in, changes), "--device=metax-tech.com/gpu=g0")
			tree, err := jsontree.Parse([]byte(device["config.json"]))
			if err != nil || !strings.Contains(string(tree.Root().At("process", "env").Raw()), "METAX=g0") {
				t.Errorf("the device by CDI: %v\n%s", err, device["stdout"])
			}
			undo, err := podman.Remove(apply(in, changes), s)
			if err != nil {
				t.Fatal(err)
			}
			gone := run(apply(apply(in, changes), undo), annotation)
			if gone["runtime"] != "crun" || gone["hook"] != "" {
				t.Errorf("after Remove: runtime %q, hook %q\n%s", gone["runtime"], gone["hook"], gone["stdout"])
			}
			s.Default = false
			changes, err = podman.Configure(in, s)
			if err != nil {
				t.Fatal(err)
			}
			if beside := run(apply(in, changes), annotation); beside["runtime"] != "crun" {
				t.Errorf("not the default one: runtime %q\n%s", beside["runtime"], beside["stdout"])
			}
			asked := stage(t, root, apply(in, changes), "--runtime=metax", "run", "--rm", "--rootfs", "/run/rootfs", "/bin/x")
			if asked["runtime"] != "metax-runtime" {
				t.Errorf("asked for: runtime %q\n%s", asked["runtime"], asked["stdout"])
			}
		})
	}
}
