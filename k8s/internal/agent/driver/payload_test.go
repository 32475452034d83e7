package driver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/sim"
)

const release = "6.8.0-31-generic" // of simulated hosts

// image writes an image with a driver of a version, and calls change with its directory.
func image(t *testing.T, version string, change func(dir string)) string {
	t.Helper()
	tree, err := sim.DriverImage("c500-1", version)
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

// collect is what Collect takes out of an image.
func collect(t *testing.T, image string) string {
	t.Helper()
	dir := t.TempDir()
	if err := Collect(image, dir); err != nil {
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

// TestCollect takes the modules and the user-space part out of an image, and nothing else, and the same when it is
// done again.
func TestCollect(t *testing.T) {
	dir := image(t, "4.0.0", func(dir string) {
		put(t, dir, "lib/modules/5.4.0/extra/metax.ko", string(sim.Module("5.4.0", "4.0.0")))
		put(t, dir, "lib/modules/5.4.0/extra/other.ko", "x")
		put(t, dir, "etc/shadow", "x")
		must(t, os.Symlink("libmxsml.so", filepath.Join(dir, "opt/mxdriver/lib/libmxsml.so.1")))
		must(t, os.Symlink("/etc", filepath.Join(dir, "lib/modules/build")))
	})
	to := collect(t, dir)
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
	must(t, Collect(dir, to))
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
		"which is not below /opt/mxdriver":  func(dir string) { must(t, os.Symlink("/etc/shadow", home(dir))) },
		`is a link to "../../etc"`:          func(dir string) { must(t, os.Symlink("../../etc", home(dir))) },
		`is a link to "../mxdriver.host"`:   func(dir string) { must(t, os.Symlink("../mxdriver.host", home(dir))) },
		"is neither a file nor a directory": func(dir string) { must(t, unix.Mkfifo(home(dir), 0o644)) },
		"is more than 32 directories deep":  func(dir string) { must(t, os.MkdirAll(home(dir)+strings.Repeat("/a", 40), 0o755)) },
	} {
		if err := Collect(image(t, "4.0.0", change), t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	from, err := os.OpenRoot(image(t, "4.0.0", nil))
	must(t, err)
	to, err := os.OpenRoot(t.TempDir())
	must(t, err)
	for want, change := range map[string]func(*copier){
		"more than 20000 files": func(c *copier) { c.files = 2 },
		"more than 4 GiB":       func(c *copier) { c.bytes = 100 },
	} {
		c := newCopier(from, to)
		change(c)
		if err := c.tree(homeDir, "a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		must(t, to.RemoveAll("a"))
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
		if _, err := Read(collect(t, image(t, "4.0.0", change))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
