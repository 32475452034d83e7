// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/test/faults"
)

// childVariable makes the test binary a writer: what it says is the job.
const childVariable = "BACKUP_TEST_CHILD"

// failed is the exit code of a writer that returned an error; a Go program that
// crashes has another.
const failed = 3

// job is one Apply of a writer.
type job struct {
	Dir     string
	Changes []backup.Change

	originals []string // of the files, before our settings came into them
}

func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		panic(err)
	}
	if err := faults.Traced(func() error { return applied(backup.New(j.Dir), j.Changes...) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(failed)
	}
	os.Exit(0)
}

// run does the job in a process of its own, with a fault at its call number n.
func (j job) run(t *testing.T, n int, fault faults.Fault) faults.Ended {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	e := faults.Child{Path: "/proc/self/exe", Args: []string{"child"}, Env: []string{childVariable + "=" + string(text)}}.Run(t, n, fault)
	if code := e.Status.ExitStatus(); e.Status.Exited() && code != 0 && code != failed {
		t.Fatalf("writer crashed:\n%s", e.Output)
	}
	return e
}

// faultCase is files and an Apply on them, for the tests of faults.
type faultCase struct {
	name    string
	files   map[string]string // by their names in etc, before
	earlier []backup.Change   // applied before
	changes []backup.Change   // names for paths
	covered bool              // all calls that can fail here are in other plays
}

var plays = []faultCase{
	{name: "first", covered: true, files: map[string]string{"f": "a"}, changes: []backup.Change{first("f", "a", "b")}},
	{name: "made", covered: true, changes: []backup.Change{first("conf.d/f", gone, "b")}},
	{name: "in a directory of drop-ins", files: map[string]string{"conf.d/f": "a"}, changes: []backup.Change{first("conf.d/f", "a", "b")}},
	{
		name: "second, after a writer that was killed", covered: true, files: map[string]string{"f": "a", ".f.1.tmp": "half"},
		earlier: []backup.Change{first("f", "a", "b")}, changes: []backup.Change{change("f", "b", "c")},
	},
	{
		name: "taken out", files: map[string]string{"f": "a"},
		earlier: []backup.Change{first("f", "a", "b"), first("g", gone, "b")},
		changes: []backup.Change{last("f", "b", "a"), last("g", "b", gone)},
	},
	{
		name: "three files", files: map[string]string{"f": "a"}, earlier: []backup.Change{first("f", "a", "b"), first("g", gone, "b")},
		changes: []backup.Change{change("f", "b", "c"), last("g", "b", gone), first("h", gone, "c")},
	},
}

// stage makes the scene anew and returns the job.
func (p faultCase) stage(t *testing.T) job {
	t.Helper()
	s, kept, etc := newTestStoreIn(t, memory(t))
	for name, text := range p.files {
		write(t, filepath.Join(etc, name), text)
	}
	place := func(changes []backup.Change) []backup.Change {
		changes = slices.Clone(changes)
		for i := range changes {
			changes[i].Path = filepath.Join(etc, changes[i].Path)
		}
		return changes
	}
	j := job{Dir: kept, Changes: place(p.changes)}
	known := map[string]string{}
	for _, c := range place(p.earlier) {
		apply(t, s, c)
		known[c.Path] = textOf(c.Before)
	}
	for _, c := range j.Changes {
		original, ok := known[c.Path]
		if !ok {
			original = textOf(c.Before)
		}
		j.originals = append(j.originals, original)
	}
	return j
}

// memory is a directory on which nobody waits for a disk, if there is such.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "backup-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// outcome checks that each file is what it was or what it was to be, that its original
// is known as long as one of our settings is in it, and that the next Applies work and
// leave nothing behind. It reports whether all files are what they were to be, or were.
func (j job) outcome(t *testing.T) (all, none bool) {
	t.Helper()
	s := backup.New(j.Dir)
	all, none = true, true
	var next, out []backup.Change
	for i, c := range j.Changes {
		now, original := read(t, c.Path), j.originals[i]
		switch now {
		case textOf(c.Before):
			all = false
		case textOf(c.After):
			none = false
		default:
			t.Fatalf("%s holds %q, neither %q nor %q", c.Path, now, c.Before, c.After)
		}
		if now == original {
			recall(t, s, c.Path, "unknown", "unknown")
		} else {
			recall(t, s, c.Path, original, original)
		}
		n := change(c.Path, now, "next")
		n.First = now == original
		next, out = append(next, n), append(out, last(c.Path, "next", original))
		// Of drop-ins every file counts, whatever its name.
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.Path), ".*")); len(left) > 0 && filepath.Ext(filepath.Dir(c.Path)) == ".d" {
			t.Errorf("%q are among the drop-ins", left)
		}
	}
	apply(t, s, next...)
	apply(t, s, out...)
	empty(t, j.Dir)
	for _, c := range next {
		for _, dir := range []string{filepath.Dir(c.Path), filepath.Dir(filepath.Dir(c.Path))} {
			if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp")); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		}
	}
	return all, none
}

// durable checks that what is renamed is on the disk before, and its new name after.
func durable(t *testing.T, calls []faults.Call) {
	t.Helper()
	synced := 0
	for _, call := range calls {
		switch call.Number {
		case unix.SYS_FSYNC:
			synced++
		case unix.SYS_RENAMEAT:
			if synced < 1 {
				t.Error("a file is renamed whose content is not synced")
			}
			synced = -1 // the directory comes first
		}
	}
	if synced < 0 {
		t.Error("the last rename is not synced")
	}
}

// TestKilled kills the writer with SIGKILL at the system calls of an Apply, once at
// each state of the files.
func TestKilled(t *testing.T) {
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			j := p.stage(t)
			whole := j.run(t, -1, faults.Kill)
			if all, _ := j.outcome(t); !whole.Status.Exited() || whole.Status.ExitStatus() != 0 || !all {
				t.Fatalf("writer ended with %x when nobody killed it: %s", whole.Status, whole.Output)
			}
			durable(t, whole.Calls)
			done, stops := 0, whole.Stops()
			for _, n := range stops {
				j := p.stage(t)
				if e := j.run(t, n, faults.Kill); !e.Status.Signaled() || e.Status.Signal() != unix.SIGKILL {
					t.Fatalf("at call %d: writer ended with %x, want SIGKILL", n, e.Status)
				}
				all, none := j.outcome(t)
				if all {
					done++
				} else if done > 0 || !none && len(p.changes) == 1 {
					t.Errorf("killed at call %d of %d: not done, but earlier it was", n, len(whole.Calls))
				}
				if t.Failed() {
					t.Fatalf("killed at call %d of %d", n, len(whole.Calls))
				}
			}
			if done == 0 || done == len(stops) {
				t.Errorf("done at %d of %d calls", done, len(stops))
			}
			t.Logf("%d system calls, killed at %d, done at the last %d", len(whole.Calls), len(stops), done)
		})
	}
}
