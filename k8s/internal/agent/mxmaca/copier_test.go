// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// write writes files below a directory: "path", "path -> target" or "path text".
func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, file := range files {
		name, text, _ := strings.Cut(file, " ")
		at := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if target, ok := strings.CutPrefix(text, "-> "); err == nil && ok {
			err = os.Symlink(target, at)
		} else if err == nil {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// files are the entries below a directory, with modes, and targets of links.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		info, err := entry.Info()
		line := strings.TrimPrefix(at, dir+"/") + " " + info.Mode().String()
		if target, err := os.Readlink(at); err == nil {
			line = strings.TrimPrefix(at, dir+"/") + " -> " + target
		}
		all = append(all, line)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// host is /opt of a host without MXMACA, and the directories of an agent.
type host struct {
	opt, reports, proc string
}

func newHost(t *testing.T) host {
	dir := t.TempDir()
	h := host{dir + "/opt", dir + "/reports", dir + "/proc"}
	for _, d := range []string{h.opt + "/" + stagingDir, h.reports, h.proc} {
		testfile.Mkdir(t, d, 0o755)
	}
	write(t, h.proc, "1/mountinfo 22 1 98:0 / / rw - ext4 /dev/sda rw\n")
	write(t, h.proc, "self/mountinfo 22 1 0:50 / / rw - overlay overlay rw\n23 22 98:0 /opt "+h.opt+" rw - ext4 /dev/sda rw\n")
	return h
}

// image copies the MXMACA of an image that has these files.
func (h host) image(t *testing.T, number string, limit int64, files ...string) Staged {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files...)
	return h.copy(t, number, limit, dir)
}

func (h host) copy(t *testing.T, number string, limit int64, dir string) Staged {
	t.Helper()
	root := simtest.Root(t, dir)
	staged, err := Copier{Image: "maca:" + number, Root: root, Opt: h.opt, Dir: filepath.Join(h.opt, stagingDir, number), Limit: limit}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return staged
}

const big = 1 << 30

func TestCopy(t *testing.T) {
	h := newHost(t)
	image := t.TempDir()
	write(t, image, "opt/maca-3.8/Version.txt Version:3.8.0.1", "opt/maca -> /opt/maca-3.8", "opt/maca-3.8/bin/tool x", "opt/maca-3.8/lib/a.so.1 library",
		"opt/maca-3.8/lib/a.so -> a.so.1", "opt/maca-3.8/lib/b.so -> /opt/maca-3.8/lib/a.so.1", "opt/maca-3.8/lib/deep/c.so -> /opt/maca/lib/a.so.1",
		"opt/maca-3.8/lib/none.so -> gone.so", "etc/passwd root")
	for name, mode := range map[string]os.FileMode{"bin/tool": 0o777 | fs.ModeSetuid, "lib": 0o777 | fs.ModeSticky, "lib/a.so.1": 0o600} {
		if err := os.Chmod(filepath.Join(image, "opt/maca-3.8", name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.copy(t, "0", big, image); got.Version != "3.8.0.1" || got.Reason != "" {
		t.Fatalf("%+v", got)
	}
	want := []string{
		"Version.txt -rw-r--r--", "bin drwxr-xr-x", "bin/tool -rwxr-xr-x", "lib drwxr-xr-x", "lib/a.so -> a.so.1", "lib/a.so.1 -rw-r--r--", "lib/b.so -> a.so.1",
		"lib/deep drwxr-xr-x", "lib/deep/c.so -> ../a.so.1", "lib/none.so -> gone.so",
	}
	if d := cmp.Diff(want, files(t, filepath.Join(h.opt, stagingDir, "0", treeDir))); d != "" {
		t.Error(d)
	}
}

// TestStrangers has images that are not taken, and why. They leave no copy.
func TestStrangers(t *testing.T) {
	const version = "opt/maca-3.8/Version.txt Version:3.8.0.1"
	for what, test := range map[string]struct {
		files  []string
		change func(dir string) error
		limit  int64
		reason string
		want   string
	}{
		"nothing":                    {reason: BadPayload, want: "no MXMACA"},
		"an image":                   {files: []string{"etc/passwd x"}, reason: BadPayload, want: "no MXMACA"},
		"elsewhere":                  {files: []string{"opt/maca -> /usr/maca", "usr/maca/Version.txt Version:3.8.0.1"}, reason: BadPayload, want: "not in /opt"},
		"the root":                   {files: []string{"opt/maca -> /", "Version.txt Version:3.8.0.1"}, reason: BadPayload, want: "not in /opt"},
		"a version as path":          {files: []string{"opt/maca/Version.txt Version:3/../../etc"}, reason: BadPayload, want: "is not a version"},
		"a version as dots":          {files: []string{"opt/maca/Version.txt Version:.."}, reason: BadPayload, want: "is not a version"},
		"an absolute link":           {files: []string{version, "opt/maca-3.8/a -> /etc/shadow"}, reason: BadPayload, want: "/opt/maca-3.8/a of the image leads out of it, to \"/etc/shadow\""},
		"an almost own link":         {files: []string{version, "opt/maca-3.8/a -> /opt/maca-3.8.1/b"}, reason: BadPayload, want: "leads out"},
		"an absolute link with dots": {files: []string{version, "opt/maca-3.8/a -> /opt/maca/../../etc"}, reason: BadPayload, want: "leads out"},
		"a relative link":            {files: []string{version, "opt/maca-3.8/lib/a -> ../../b"}, reason: BadPayload, want: "the link lib/a of the payload does not stay inside"},
		"too many bytes":             {files: []string{version, "opt/maca-3.8/a " + strings.Repeat("x", 100)}, limit: 100, reason: BadPayload, want: "more than 100 bytes"},
		"a pipe":                     {files: []string{version}, change: func(dir string) error { return unix.Mkfifo(dir+"/opt/maca-3.8/pipe", 0o644) }, reason: BadPayload, want: "/opt/maca-3.8/pipe of the image is neither"},
		"a huge file of holes":       {files: []string{version, "opt/maca-3.8/a "}, change: func(dir string) error { return os.Truncate(dir+"/opt/maca-3.8/a", 1<<43) }, limit: 1 << 60, reason: NoSpace, want: "GiB free"},
	} {
		t.Run(what, func(t *testing.T) {
			h, dir := newHost(t), t.TempDir()
			write(t, dir, test.files...)
			if test.change != nil {
				if err := test.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			if test.limit == 0 {
				test.limit = big
			}
			got := h.copy(t, "0", test.limit, dir)
			if got.Reason != test.reason || !strings.Contains(got.Message, test.want) {
				t.Errorf("%+v", got)
			}
			if _, err := os.Lstat(filepath.Join(h.opt, stagingDir, "0", treeDir)); err == nil {
				t.Error("a copy is there")
			}
		})
	}
}

// TestStop copies nothing after the end of the context, and says nothing of it.
func TestStop(t *testing.T) {
	h, dir := newHost(t), t.TempDir()
	write(t, dir, "opt/maca/Version.txt Version:3.8.0.1")
	root := simtest.Root(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Copier{Root: root, Opt: h.opt, Dir: filepath.Join(h.opt, "0"), Limit: big}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if slices.Contains(files(t, h.opt), "0/"+stagedFile+" -rw-r--r--") {
		t.Error("a result is there")
	}
}

func TestRoom(t *testing.T) {
	for _, test := range []struct {
		need, free, total int64
		fits              bool
	}{{10, 100, 200, true}, {80, 100, 200, true}, {81, 100, 200, false}, {101, 100, 200, false}} {
		if err := room(test.need, test.free, test.total, KeepFree); (err == nil) != test.fits {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// TestCopyKilled copies again what a killed copier left half done.
func TestCopyKilled(t *testing.T) {
	h := newHost(t)
	write(t, h.opt, stagingDir+"/0/tree/Version.txt x", stagingDir+"/0/tree/lib/a half")
	if got := h.image(t, "0", big, "opt/maca-3.8/Version.txt Version:3.8.0.1", "opt/maca-3.8/lib/a whole"); got.Reason != "" {
		t.Errorf("%+v", got)
	}
}
