// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestUnsafe(t *testing.T) {
	move := func(t *testing.T, path string) string {
		t.Helper()
		if err := os.Rename(path, path+".real"); err != nil {
			t.Fatal(err)
		}
		return path + ".real"
	}
	link := func(t *testing.T, path string) {
		t.Helper()
		testfile.Symlink(t, move(t, path), path)
	}
	fifo := func(t *testing.T, path string) {
		t.Helper()
		move(t, path)
		if err := unix.Mkfifo(path, 0o660); err != nil {
			t.Fatal(err)
		}
	}
	mkdir := func(t *testing.T, path string) {
		t.Helper()
		move(t, path)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := func(t *testing.T, path string) {
		t.Helper()
		move(t, path)
		put(t, path, "")
	}
	chmod := func(mode fs.FileMode) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	twice := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Link(path, path+".other"); err != nil {
			t.Fatal(err)
		}
	}
	given := func(t *testing.T, path string) {
		t.Helper()
		needs.Root(t, "to give a file away")
		if err := os.Chown(path, 1234, -1); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil        func(*testing.T, string)
		path         string // in the directory
		problem, fix string
		writers      bool // only they mind
	}{
		"directory a link":           {link, "", "is a symbolic link", "rm %s", false},
		"directory a file":           {file, "", "is not a directory", "rm %s", false},
		"directory a FIFO":           {fifo, "", "is not a directory", "rm %s", false},
		"directory for everybody":    {chmod(fs.ModeSetgid | 0o777), "", "can be written by everybody", "chmod o-w %s", false},
		"directory with sticky bit":  {chmod(fs.ModeSetgid | fs.ModeSticky | 0o777), "", "can be written by everybody", "chmod o-w %s", false},
		"somebody's directory":       {given, "", "belongs to user 1234, neither to root nor to you", "chown root %s", false},
		"file a link":                {link, "leases.json", "is a symbolic link", "rm %s", false},
		"file a FIFO":                {fifo, "leases.json", "is not a regular file", "rm %s", false},
		"file a directory":           {mkdir, "leases.json", "is a directory", "rm -r %s", false},
		"file for everybody":         {chmod(0o666), "leases.json", "can be written by everybody", "chmod o-w %s", false},
		"lock a link":                {link, "lock", "is a symbolic link", "rm %s", true},
		"lock a FIFO":                {fifo, "lock", "is not a regular file", "rm %s", true},
		"lock a directory":           {mkdir, "lock", "is a directory", "rm -r %s", true},
		"lock writable by everybody": {chmod(0o662), "lock", "can be opened by everybody", "chmod o= %s", true},
		"lock readable by everybody": {chmod(0o664), "lock", "can be opened by everybody", "chmod o= %s", true},
		"lock somebody's file":       {twice, "lock", "has 2 names", "rm %s", true},
	} {
		t.Run(name, func(t *testing.T) {
			l, dir := fresh(t)
			path := filepath.Join(dir, c.path)
			c.spoil(t, path)
			_, readErr := l.Read()
			errs := map[string]error{"change": l.Update(context.Background(), add("b"))}
			if !c.writers {
				errs["read"] = readErr
			} else if readErr != nil {
				t.Error(readErr)
			}
			for action, err := range errs {
				var unsafe *ledger.UnsafeError
				if !errors.As(err, &unsafe) {
					t.Fatalf("%s: error is %v, want an UnsafeError", action, err)
				}
				want := fmt.Sprintf("%s leases: %s %s; as root, run: %s", action, path, c.problem, fmt.Sprintf(c.fix, path))
				if d := cmp.Diff(want, err.Error()); d != "" {
					t.Error(d)
				}
			}
			// The way out that the message names is one.
			var unsafe *ledger.UnsafeError
			errors.As(errs["change"], &unsafe)
			if out, err := exec.Command("sh", "-c", unsafe.Fix).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", unsafe.Fix, err, out)
			}
			update(t, l, add("b"))
		})
	}
}

// A socket can be opened by nobody.
func TestSocket(t *testing.T) {
	for _, name := range []string{"leases.json", "lock"} {
		l, dir := fresh(t)
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mknod(path, unix.S_IFSOCK|0o660, 0); err != nil {
			t.Fatal(err)
		}
		err := l.Update(context.Background(), add("b"))
		if err == nil || !strings.Contains(err.Error(), path+" is not a regular file; as root, run: rm "+path) {
			t.Errorf("error is %v", err)
		}
	}
}
