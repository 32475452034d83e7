// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/test/needs"
)

const (
	member, stranger = 1234, 1235
	group            = 4321
)

// umask sets the process's umask for the time of a test. Such tests do not run in parallel.
func umask(t *testing.T, mask int) {
	t.Helper()
	old := unix.Umask(mask)
	t.Cleanup(func() { unix.Umask(old) })
}

// rights is who may do what with a file, as a reader of ls -ln sees it.
type rights struct {
	Mode     fs.FileMode
	UID, GID uint32
}

func rightsOf(t *testing.T, path string) rights {
	t.Helper()
	i := info(t, path)
	stat := i.Sys().(*syscall.Stat_t)
	return rights{i.Mode(), stat.Uid, stat.Gid}
}

func expect(t *testing.T, path string, want rights) {
	t.Helper()
	if d := cmp.Diff(want, rightsOf(t, path)); d != "" {
		t.Errorf("%s: %s", path, d)
	}
}

// shared returns a ledger of root and a group, which all can reach.
func shared(t *testing.T) (*ledger.Ledger, string) {
	t.Helper()
	needs.Root(t, "to run as others")
	dir := t.TempDir()
	for _, above := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(dir, "leases")
	l := ledger.New(dir, boot)
	if err := l.Init(group); err != nil {
		t.Fatal(err)
	}
	return l, dir
}

func TestInit(t *testing.T) {
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	to := -1
	if uid == 0 {
		to, gid = group, group
	}
	for _, mask := range []int{0, 0o022, 0o077} {
		umask(t, mask)
		above := t.TempDir()
		dir := filepath.Join(above, "run", "metax-container-toolkit", "leases")
		l := ledger.New(dir, boot)
		right := func() {
			t.Helper()
			if err := l.Init(to); err != nil {
				t.Fatal(err)
			}
			expect(t, dir, rights{fs.ModeDir | fs.ModeSetgid | 0o775, uid, gid})
			expect(t, filepath.Join(dir, "lock"), rights{0o660, uid, gid})
			for _, made := range []string{"run", "run/metax-container-toolkit"} {
				if mode := info(t, filepath.Join(above, made)).Mode(); mode != fs.ModeDir|0o755 {
					t.Errorf("%s has mode %v, want 0755 whatever the umask", made, mode)
				}
			}
		}
		right()
		names(t, dir, "lock")
		update(t, l, add("a"))
		expect(t, l.Path(), rights{0o664, uid, gid})
		right()
		check(t, l, holding("a"))

		for path, mode := range map[string]fs.FileMode{dir: 0o777, filepath.Join(dir, "lock"): 0o606} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if uid == 0 {
				if err := os.Chown(path, stranger, stranger); err != nil {
					t.Fatal(err)
				}
			}
		}
		right()
		check(t, l, holding("a"))
	}
}

// Init repairs nothing that a link leads to.
func TestInitLink(t *testing.T) {
	for _, name := range []string{"", "lock"} {
		l, dir := fresh(t)
		path := filepath.Join(dir, name)
		target := filepath.Join(t.TempDir(), "target")
		if err := errors.Join(os.Rename(path, target), os.Symlink(target, path), os.Chmod(target, 0o700)); err != nil {
			t.Fatal(err)
		}
		before := rightsOf(t, target)
		var unsafe *ledger.UnsafeError
		if err := l.Init(group); !errors.As(err, &unsafe) || unsafe.Path != path {
			t.Errorf("error is %v, want that %s is a link", err, path)
		}
		expect(t, target, before)
	}
	l, dir := fresh(t)
	lock := filepath.Join(dir, "lock")
	if err := errors.Join(os.Chmod(lock, 0o600), os.Link(lock, lock+".other")); err != nil {
		t.Fatal(err)
	}
	if err := l.Init(group); err == nil || !strings.Contains(err.Error(), "has 2 names") {
		t.Errorf("error is %v", err)
	}
	if mode := info(t, lock).Mode(); mode != 0o600 {
		t.Errorf("mode is %v now", mode)
	}
}

// Update makes a directory that is missing, and finishes one that is not done.
func TestUpdateMakes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run", "leases")
	l := ledger.New(dir, boot)
	update(t, l, add("a"))
	check(t, l, holding("a"))
	if mode := info(t, dir).Mode(); mode != fs.ModeDir|fs.ModeSetgid|0o775 {
		t.Errorf("mode is %v", mode)
	}

	needs.Root(t, "to give the directory to a group")
	dir = filepath.Join(t.TempDir(), "leases")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l = ledger.New(dir, boot)
	l.DefaultGID = group
	update(t, l, add("a"))
	expect(t, dir, rights{fs.ModeDir | fs.ModeSetgid | 0o775, 0, group})
	expect(t, filepath.Join(dir, "lock"), rights{0o660, 0, group})
	expect(t, l.Path(), rights{0o664, 0, group})
}

// Root and a member of the group write in turn, and neither locks the other out.
func TestMember(t *testing.T) {
	l, dir := shared(t)
	umask(t, 0o077)
	update(t, l, add("a"))
	expect(t, l.Path(), rights{0o664, 0, group})
	output(t, as(child("umask", dir, "b"), member, group))
	expect(t, l.Path(), rights{0o664, member, group})
	update(t, l, add("c"))
	expect(t, l.Path(), rights{0o664, 0, group})
	output(t, as(child("umask", dir, "d"), member+100, group))
	check(t, l, holding("a", "b", "c", "d"))

	lock := filepath.Join(dir, "lock")
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	output(t, as(child("umask", dir, "e"), member, group))
	expect(t, lock, rights{0o660, member, group})
	output(t, as(child("umask", dir, "f"), member+100, group))

	put(t, l.Path(), "damaged by root")
	output(t, as(child("umask", dir, "g"), member, group))
	check(t, l, holding("g"))
	if got := text(t, l.Path()+".damaged"); got != "damaged by root" {
		t.Errorf("kept %q", got)
	}
}

// Others see who holds what, and are told how to get further.
func TestStranger(t *testing.T) {
	l, dir := shared(t)
	update(t, l, add("a"))
	if got := output(t, as(child("read", dir), stranger)); got != "a\n" {
		t.Errorf("read %q", got)
	}
	lock := filepath.Join(dir, "lock")
	want := "change leases: open " + lock + ": permission denied; only root and group 4321 (gid 4321) can take leases; to join: sudo usermod -aG 4321 USER, then log in again\n"
	if d := cmp.Diff(want, refusal(t, as(child("add", dir, "b"), stranger))); d != "" {
		t.Error(d)
	}
	if err := os.Chmod(l.Path(), 0o640); err != nil {
		t.Fatal(err)
	}
	if got := refusal(t, as(child("read", dir), stranger)); !strings.Contains(got, "read leases: open "+l.Path()+": permission denied; only root and group 4321") {
		t.Errorf("error is %q", got)
	}
	if err := os.Chown(dir, 0, 0); err != nil {
		t.Fatal(err)
	}
	if got := refusal(t, as(child("add", dir, "b"), stranger)); !strings.Contains(got, "permission denied; only root can take leases; run the command as root, or let a group do it: sudo metax-ctk lease init --group NAME") {
		t.Errorf("error is %q", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got := output(t, as(child("read", dir), stranger)); got != "" {
		t.Errorf("read %q", got)
	}
	want = dir + " is not there; run once as root: metax-ctk lease init\n"
	if d := cmp.Diff(want, refusal(t, as(child("add", dir, "b"), member, group))); d != "" {
		t.Error(d)
	}
}

func TestReadOnly(t *testing.T) {
	l, dir := shared(t)
	update(t, l, add("a"))
	frozen := child("frozen", dir, filepath.Dir(dir))
	frozen.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	want := "read: <nil>\n" +
		"update: change leases: open " + dir + "/lock: read-only file system; " + dir + " has to be on a file system that can be written\n" +
		"init: make " + dir + ": open " + dir + "/lock: read-only file system; " + dir + " has to be on a file system that can be written\n"
	if d := cmp.Diff(want, output(t, frozen)); d != "" {
		t.Error(d)
	}
	gone := filepath.Join(filepath.Dir(dir), "gone")
	frozen = child("frozen", gone, filepath.Dir(dir))
	frozen.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	why := "make " + gone + ": mkdir " + gone + ": read-only file system; " + gone + " has to be on a file system that can be written\n"
	want = "read: <nil>\nupdate: " + why + "init: " + why
	if d := cmp.Diff(want, output(t, frozen)); d != "" {
		t.Error(d)
	}
}

// A directory that a full disk cannot take is named.
func TestNoSpace(t *testing.T) {
	needs.Root(t, "to mount")
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=0755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	l := ledger.New(filepath.Join(dir, "leases"), boot)
	update(t, l, add("a"))
	if err := os.WriteFile(filepath.Join(dir, "rest"), make([]byte, 64<<10), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("error is %v", err)
	}
	err := l.Update(context.Background(), add("b"))
	if !errors.Is(err, unix.ENOSPC) || !strings.HasSuffix(err.Error(), "; make room in "+filepath.Join(dir, "leases")) {
		t.Errorf("error is %v", err)
	}
	check(t, l, holding("a"))
	names(t, filepath.Join(dir, "leases"), "leases.json", "lock")
	if err := os.Remove(filepath.Join(dir, "rest")); err != nil {
		t.Fatal(err)
	}
	update(t, l, add("b"))
	check(t, l, holding("a", "b"))
}
