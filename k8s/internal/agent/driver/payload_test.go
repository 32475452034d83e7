// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/payload"
)

const release = "6.8.0-31-generic" // of simulated hosts

// image writes an image with a driver of a version, and calls change with its directory.
func image(t *testing.T, version string, change func(dir string)) string {
	t.Helper()
	tree, err := sim.DriverImage("c500-1", version, []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := tree.Write(dir); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(dir)
	}
	return dir
}

// collected is what Collect takes out of an image.
func collected(t *testing.T, image string) string {
	t.Helper()
	dir := t.TempDir()
	if err := Collect(t.Context(), image, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// TestCollect takes the modules and the user-space part out of an image, and nothing else, and
// the same when it is done again.
func TestCollect(t *testing.T) {
	dir := image(t, "4.0.0", func(dir string) {
		put(t, dir, "lib/modules/5.4.0/extra/metax.ko", string(sim.Module("5.4.0", "4.0.0")))
		put(t, dir, "lib/modules/5.4.0/extra/other.ko", "x")
		put(t, dir, "etc/shadow", "x")
		must(t, os.Symlink("libmxsml.so", filepath.Join(dir, "opt/mxdriver/lib/libmxsml.so.1")))
		must(t, os.Symlink("/etc", filepath.Join(dir, "lib/modules/build")))
	})
	to := collected(t, dir)
	p, err := Read(to)
	must(t, err)
	want := []Module{
		{File: "lib/modules/5.4.0/extra/metax.ko", Kernel: "5.4.0", Version: "4.0.0", Srcversion: "SIMULATED4.0.0"},
		{File: "lib/modules/" + release + "/updates/metax.ko", Kernel: release, Version: "4.0.0", Srcversion: "SIMULATED4.0.0"},
	}
	if d := cmp.Diff(want, p.Modules); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"etc", "lib/modules/build", "lib/modules/5.4.0/extra/other.ko"} {
		if _, err := os.Lstat(filepath.Join(to, name)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if target, err := os.Readlink(filepath.Join(to, "opt/mxdriver/lib/libmxsml.so.1")); err != nil || target != "libmxsml.so" {
		t.Error(target, err)
	}
	if info, err := os.Stat(filepath.Join(to, "opt/mxdriver/bin/mx-smi")); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info, err)
	}
	must(t, Collect(t.Context(), dir, to))
	if again, err := Read(to); err != nil || again.ID != p.ID {
		t.Errorf("collected again: %s, then %s (%v)", p.ID, again.ID, err)
	}
	put(t, to, "opt/mxdriver/bin/more", "x")
	if other, err := Read(to); err != nil || other.ID == p.ID {
		t.Errorf("another payload has the same ID: %v", err)
	}
}

// TestCollectRefuses has images that a stranger made.
func TestCollectRefuses(t *testing.T) {
	home := func(dir string) string { return filepath.Join(dir, "opt/mxdriver/x") }
	for want, change := range map[string]func(dir string){
		`the link /opt/mxdriver/x of the image leads out of it, to "/etc/shadow"`:        func(dir string) { must(t, os.Symlink("/etc/shadow", home(dir))) },
		`the link x of the payload does not stay inside: it leads to "../../etc"`:        func(dir string) { must(t, os.Symlink("../../etc", home(dir))) },
		`the link x of the payload does not stay inside: it leads to "../mxdriver.host"`: func(dir string) { must(t, os.Symlink("../mxdriver.host", home(dir))) },
		`the link x of the payload does not stay inside: it leads to "here/here/../../etc/shadow"`: func(dir string) {
			must(t, os.Symlink(".", filepath.Join(dir, "opt/mxdriver/here")))
			must(t, os.Symlink("here/here/../../etc/shadow", home(dir)))
		},
		"/opt/mxdriver/x of the image is neither a file": func(dir string) { must(t, unix.Mkfifo(home(dir), 0o644)) },
		"is more than 64 directories deep":               func(dir string) { must(t, os.MkdirAll(home(dir)+strings.Repeat("/a", 70), 0o755)) },
	} {
		if err := Collect(t.Context(), image(t, "4.0.0", change), t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	from := image(t, "4.0.0", nil)
	for want, limit := range map[string]payload.Limit{
		"more than 2 files":   {Bytes: limit.Bytes, Entries: 2},
		"more than 100 bytes": {Bytes: 100, Entries: limit.Entries},
	} {
		if err := collect(t.Context(), from, t.TempDir(), limit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestReadRefuses has payloads of which nothing is loaded.
func TestReadRefuses(t *testing.T) {
	module := func(text string) func(string) {
		return func(dir string) { put(t, dir, "lib/modules/"+release+"/updates/metax.ko", text) }
	}
	sound := string(sim.Module(release, "4.0.0"))
	for want, change := range map[string]func(dir string){
		"has no metax.ko below /lib/modules":          func(dir string) { must(t, os.RemoveAll(filepath.Join(dir, "lib"))) },
		"has no /opt/mxdriver/bin/mx-smi":             func(dir string) { must(t, os.RemoveAll(filepath.Join(dir, "opt"))) },
		"not a sound kernel module":                   module("x"),
		`it is the module "other"`:                    module(strings.Replace(sound, "name=metax", "name=other", 1)),
		"it does not say which kernel it is for":      module(strings.Replace(sound, "vermagic=", "vermagix=", 1)),
		"its words have blanks or control characters": module(strings.Replace(sound, "version=4.0.0", "version=4\n0 0", 1)),
	} {
		if _, err := Read(collected(t, image(t, "4.0.0", change))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
