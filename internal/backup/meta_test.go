// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestMeta(t *testing.T) {
	needs.Root(t, "to give files away")
	unixMask(t, 0o077)
	s, kept, etc := newTestStore(t)
	path := filepath.Join(etc, "f")
	write(t, path, "a")
	acl := "\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x02\x00\x04\x00\xd2\x04\x00\x00\x04\x00\x04\x00\xff\xff\xff\xff\x10\x00\x04\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff"
	attrs := map[string]string{"user.note": "x", "trusted.y": "\x00", "system.posix_acl_access": acl, "security.selinux": "system_u:object_r:container_config_t:s0\x00"}
	for name, value := range attrs {
		if err := unix.Lsetxattr(path, name, []byte(value), 0); err != nil {
			t.Logf("the file system has no %s: %v", name, err)
			delete(attrs, name)
		}
	}
	if err := errors.Join(os.Chown(path, 1234, 4321), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	want, err := atomicfile.MetaOf(path)
	if err != nil || len(want.Attrs) < len(attrs) || want.UID != 1234 || want.GID != 4321 || want.Mode != 0o640 {
		t.Fatalf("%+v, %v", want, err)
	}
	same := func(what string) {
		t.Helper()
		got, err := atomicfile.MetaOf(path)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v, %s", what, err, d)
		}
	}
	apply(t, s, first(path, "a", "b"))
	same("changed")
	if err := applied(s, last(path, "b", gone), change(path+"none", "a", "b")); err == nil {
		t.Error("changed what is not there")
	}
	below := filepath.Join(path+"file", "below")
	write(t, path+"file", "")
	if err := applied(s, last(path, "b", gone), first(below, gone, "b")); err == nil {
		t.Error("made a file below a file")
	}
	same("removed and put back")
	apply(t, s, last(path, "b", "a"))
	same("undone")
	apply(t, s, first(path, "a", "b"))
	made := backup.Change{Path: filepath.Join(etc, "conf.d", "x"), After: []byte("x"), Mode: 0o640, First: true}
	apply(t, s, made)
	for p, want := range map[string]fs.FileMode{
		made.Path: 0o640, filepath.Dir(made.Path): fs.ModeDir | 0o755, filepath.Dir(kept): fs.ModeDir | 0o755, kept: fs.ModeDir | 0o700,
	} {
		if info, err := os.Stat(p); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, %v; want %v", p, info.Mode(), err, want)
		}
	}
	entries, _ := filepath.Glob(filepath.Join(kept, "*", "*"))
	if len(entries) != 3 { // two records, and the copy of the file that was there
		t.Errorf("%d files in the store: %q", len(entries), entries)
	}
	for _, p := range entries {
		if info, err := os.Stat(p); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has mode %v, %v", p, info.Mode(), err)
		}
	}
	holds(t, filepath.Join(kept, strings.ReplaceAll(path[1:], "/", "%2F"), "original"), "a")
}

func TestLinks(t *testing.T) {
	s, _, etc := newTestStore(t)
	link, target := filepath.Join(etc, "docker", "daemon.json"), filepath.Join(etc, "static", "daemon.json")
	write(t, target, "a")
	write(t, link+".other", "x")
	testfile.Symlink(t, "../static/daemon.json", link)
	apply(t, s, first(link, "a", "b"))
	holds(t, target, "b")
	if to, err := os.Readlink(link); err != nil || to != "../static/daemon.json" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	recall(t, s, link, "a", "a")
	apply(t, s, last(link, "b", "a"))
	holds(t, target, "a")
	outside := memory(t)
	if strings.HasPrefix(outside, os.TempDir()) {
		t.Skip("needs a second directory to write in")
	}
	write(t, filepath.Join(outside, "f"), "a")
	for to, after := range map[string]string{
		"nowhere": "b", filepath.Join(outside, "f"): "b", "/dev/null": "b", "daemon.json": "b", "../static/daemon.json": gone,
	} {
		if err := errors.Join(os.Remove(link), os.Symlink(to, link)); err != nil {
			t.Fatal(err)
		}
		err := applied(s, first(link, "a", after))
		var refused *backup.LinkError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), link) {
			t.Errorf("to %s: %v, want a LinkError", to, err)
		}
		// What a link without a file leads to is not made either.
		if err := applied(s, first(link, gone, "b")); err == nil {
			t.Errorf("to %s: made", to)
		}
	}
	holds(t, filepath.Join(outside, "f"), "a")
	holds(t, target, "a")
}
