// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/faults"
)

// TestKilledAtEveryCall kills a create at its system calls, once at each state of the bundle.
// The bundle has its old configuration or the new one, never a part, and a create that comes
// later makes it right and leaves nothing else behind.
func TestKilledAtEveryCall(t *testing.T) {
	dir := scene(t, asking)
	path := dir + "/bundle/config.json"
	program, err := exec.LookPath("traced")
	if err != nil {
		t.Fatal(err)
	}
	create := faults.Child{Path: program, Args: []string{"traced", "create", "--bundle", dir + "/bundle", "x"}}
	whole := create.Run(t, -1, faults.Kill)
	edited := read(t, path)
	if edited == asking || !whole.Became {
		t.Fatalf("nothing to be killed at: status %x: %s", whole.Status, whole.Output)
	}
	seen := map[string]int{}
	for _, n := range whole.Stops() {
		if err := os.RemoveAll(dir + "/bundle"); err != nil {
			t.Fatal(err)
		}
		write(t, path, asking)
		create.Run(t, n, faults.Kill)
		switch got := read(t, path); got {
		case asking, edited:
			seen[got]++
		default:
			t.Fatalf("killed before call %d: a configuration of %d bytes, neither of %d nor %d:\n%s", n, len(got), len(asking), len(edited), got)
		}
		for range 2 { // the engine tries again, and is killed again
			create.Run(t, n, faults.Kill)
		}
		if out, err := exec.Command("metax-runtime", "create", "--bundle", dir+"/bundle", "x").CombinedOutput(); err != nil {
			t.Fatalf("killed before call %d: a later create fails: %v\n%s", n, err, out)
		}
		if read(t, path) != edited {
			t.Fatalf("killed before call %d: a later create makes %s", n, read(t, path))
		}
		if names := list(t, dir+"/bundle"); names != "config.json" {
			t.Fatalf("killed before call %d: %s is left behind", n, names)
		}
	}
	t.Logf("%d system calls, killed at %d, at %d of them after the change", len(whole.Calls), len(whole.Stops()), seen[edited])
	// With fewer stops the test does not look where it should.
	if seen[asking] < 3 || seen[edited] < 1 {
		t.Errorf("killed %d times before and %d times after the change", seen[asking], seen[edited])
	}
}

// list is the names in a directory.
func list(t *testing.T, dir string) string {
	t.Helper()
	names, err := namesIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func namesIn(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " "), err
}

// TestNothingLeftBehind: a hundred starts leave no more files than one.
func TestNothingLeftBehind(t *testing.T) {
	dir := scene(t, asking)
	tmp := t.TempDir()
	for range 100 {
		write(t, dir+"/bundle/config.json", asking)
		for range 2 { // the second finds all done
			cmd := exec.Command("metax-runtime", "create", "--bundle", dir+"/bundle", "x")
			cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	if names := list(t, dir+"/bundle") + list(t, tmp); names != "config.json" {
		t.Errorf("%s is left behind", names)
	}
}

// TestNoSpace: where the bundle cannot be written, the container does not start, and the
// configuration is the one that the engine wrote.
func TestNoSpace(t *testing.T) {
	for name, want := range map[string]string{"crowded": "no space left on device", "frozen": "read-only file system"} {
		for config, asks := range map[string]bool{asking: true, quiet: false} {
			dir := scene(t, config)
			cmd := exec.Command(name, "create", "--bundle", dir+"/bundle", "x")
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			out, err := cmd.CombinedOutput()
			if errors.Is(err, fs.ErrPermission) {
				t.Skip("needs root, for a mount namespace")
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			said, left, _ := strings.Cut(string(out), "\nleft: ")
			if asks && (!strings.HasPrefix(said, "metax-runtime: ") || !strings.HasSuffix(said, want) || strings.Contains(said, "\n")) {
				t.Errorf("%s: %q, want one line that ends with %q", name, said, want)
			} else if !asks && said != "metax-runtime: start "+dir+"/bin/runc: became it" {
				t.Errorf("%s: %q, want that it becomes the low-level runtime", name, said)
			}
			if left = strings.ReplaceAll(left, " filler", ""); left != "config.json "+config {
				t.Errorf("%s: left %q", name, left)
			}
		}
	}
}

// within runs the program in a bundle that is prepared, and prints what it left.
func within(prepare func(dir string) error) {
	d := tested()
	dir := d.Args[2]
	d.Exec = func(string, []string, []string) error { return errors.New("became it") }
	if err := prepare(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	execRuntime(d)
	names, _ := namesIn(dir)
	text, _ := os.ReadFile(dir + "/config.json")
	fmt.Printf("left: %s %s", names, text)
}

// crowd mounts a full file system with the bundle's configuration.
func crowd(dir string) error {
	text, err := os.ReadFile(dir + "/config.json")
	if err != nil {
		return err
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/config.json", text, 0o640); err != nil {
		return err
	}
	err = os.WriteFile(dir+"/filler", make([]byte, 128<<10), 0o640)
	if !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("the file system is not full: %w", err)
	}
	return nil
}

func freeze(dir string) error {
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}
