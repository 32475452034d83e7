// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/oci"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func bundle(t *testing.T, text []byte) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "config.json")
	testfile.Write(t, path, text, 0o600)
	return dir, path
}

// edit does the same with a bundle as the shim.
func edit(t *testing.T, dir string, e *cdispecs.ContainerEdits) error {
	t.Helper()
	b, err := oci.Open(filepath.Join(dir, "config.json"))
	if err != nil {
		return err
	}
	c, err := b.Config()
	if err != nil {
		return err
	}
	if err := c.Apply(e, look(t)); err != nil {
		return err
	}
	return b.Flush()
}

func only(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("in the bundle: %v, %v", entries, err)
	}
}

func TestFlush(t *testing.T) {
	text := engineConfig(t, "docker")
	dir, path := bundle(t, text)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	owner := os.Geteuid()
	if owner == 0 {
		owner = 12345
		if err := os.Chown(path, owner, 54321); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := edit(t, dir, gpus(2)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); info.Mode() != 0o640 || int(st.Uid) != owner || owner == 12345 && st.Gid != 54321 {
			t.Errorf("mode %v, owner %d:%d", info.Mode(), st.Uid, st.Gid)
		}
		only(t, dir)
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.Equal(data, text) || len(parse(t, data).Devices()) != 5 {
		t.Errorf("not edited, %v:\n%s", err, data)
	}
}

// Without a change nothing is written: inode and time stay the same.
func TestFlushUnchanged(t *testing.T) {
	dir, path := bundle(t, engineConfig(t, "crio"))
	past := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	untouched := func() {
		t.Helper()
		if info, err := os.Lstat(path); err != nil || !info.ModTime().Equal(past) {
			t.Errorf("written at %v, %v", info.ModTime(), err)
		}
	}
	for _, e := range []*cdispecs.ContainerEdits{{}, gpus(1)} {
		if err := edit(t, dir, e); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
		if err := edit(t, dir, e); err != nil {
			t.Fatal(err)
		}
		untouched()
	}
	b, err := oci.Open(filepath.Join(dir, "config.json"))
	if err != nil || b.NoRequest() != true {
		t.Errorf("NoRequest: %v, %v", b.NoRequest(), err)
	}
	if err := b.Flush(); err != nil {
		t.Error(err)
	}
	untouched()
}

func TestFlushTwice(t *testing.T) {
	dir, path := bundle(t, []byte(`{}`))
	b, err := oci.Open(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Config()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"A=1", "B=2"} {
		if err := c.Apply(&cdispecs.ContainerEdits{Env: []string{v}}, nil); err != nil {
			t.Fatal(err)
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != `{"process":{"env":["A=1","B=2"]}}` {
		t.Errorf("%s, %v", data, err)
	}
	testfile.Write(t, filepath.Join(dir, "other"), `{}`, 0o600)
	if err := os.Rename(filepath.Join(dir, "other"), path); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(&cdispecs.ContainerEdits{Env: []string{"C=3"}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); !errors.Is(err, atomicfile.ErrChanged) {
		t.Errorf("somebody else's file is overwritten: %v", err)
	}
	only(t, dir)
}

func TestOpenRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(path string) error
		want error
	}{
		"none":      {func(string) error { return nil }, fs.ErrNotExist},
		"link":      {func(p string) error { return os.Symlink("/etc/hostname", p) }, atomicfile.ErrNotRegular},
		"fifo":      {func(p string) error { return unix.Mkfifo(p, 0o600) }, atomicfile.ErrNotRegular},
		"directory": {func(p string) error { return os.Mkdir(p, 0o700) }, atomicfile.ErrNotRegular},
		"socket": {func(p string) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Bind(fd, &unix.SockaddrUnix{Name: p})
		}, atomicfile.ErrNotRegular},
		"too large": {func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, oci.MaxConfig+1))
		}, atomicfile.ErrTooLarge},
		"truncated": {func(p string) error { return os.WriteFile(p, engineConfig(t, "docker")[:9000], 0o600) }, oci.ErrConfig},
		"empty":     {func(p string) error { return os.WriteFile(p, nil, 0o600) }, oci.ErrConfig},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "b")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			path := filepath.Join(dir, "config.json")
			if err := tc.make(path); err != nil {
				t.Fatal(err)
			}
			if err := edit(t, dir, gpus(1)); !errors.Is(err, tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v; want %v that names the file", err, tc.want)
			}
		})
	}
}

// mounted mounts a tmpfs of 64 kB at a new directory, which needs root.
func mounted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	needs.Root(t, "to mount")
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// A bundle that cannot be written stays unchanged, and the error has the reason.
func TestFlushFails(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, dir string)
		want  error
	}{
		"no space": {func(t *testing.T, dir string) {
			err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 1<<20), 0o600)
			if !errors.Is(err, unix.ENOSPC) {
				t.Fatalf("it is not full: %v", err)
			}
		}, unix.ENOSPC},
		"read-only": {func(t *testing.T, dir string) {
			if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
		}, unix.EROFS},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mounted(t)
			path := filepath.Join(dir, "config.json")
			text := engineConfig(t, "docker")
			testfile.Write(t, path, text, 0o600)
			tc.spoil(t, dir)
			if err := edit(t, dir, gpus(8)); !errors.Is(err, tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v; want %v that names the file", err, tc.want)
			}
			if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, text) {
				t.Errorf("the file has changed, %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp")); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}
