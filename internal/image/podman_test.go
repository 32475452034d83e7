// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// podman is a program that prints what a test needs; the directory is what it mounts.
type podman struct {
	said   []string
	dir    string
	fails  string // the verb that does
	id     string
	during func()
}

func (p *podman) run(_ context.Context, args ...string) ([]byte, error) {
	p.said = append(p.said, strings.Join(args, " "))
	if p.during != nil {
		p.during()
	}
	if args[1] == p.fails {
		return nil, errors.New("podman: exit status 125: Error: trouble")
	}
	switch args[1] {
	case "inspect":
		if args[3] == "missing" {
			return nil, errors.New(`podman: exit status 125: Error: missing: image not known`)
		}
		return fmt.Appendf(nil, `[{"Id":%q,"Os":"linux","Architecture":"amd64","Config":{"Env":["A=b"],"Labels":{"l":"2"},"Volumes":{"/data":{}}}}]`, p.id), nil
	case "mount":
		return []byte(p.dir + "\n"), nil
	}
	return nil, nil
}

func root(t *testing.T) {
	t.Helper()
	needs.Root(t, "as podman's mounts do")
}

func TestPodman(t *testing.T) {
	root(t)
	bare := strings.TrimPrefix(imageID, "sha256:")
	p := &podman{dir: t.TempDir(), id: bare}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(p.dir, "opt/maca-2/lib"), 0o755),
		os.WriteFile(filepath.Join(p.dir, "opt/maca-2/Version.txt"), []byte("Version:2.0"), 0o600),
		os.Symlink("/opt/maca-2", filepath.Join(p.dir, "opt/maca")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	source := image.Podman{Run: p.run, Dir: t.TempDir()}
	got, err := image.Read(t.Context(), source, "-x", image.Cache{}, []string{"l"})
	if err != nil {
		t.Fatal(err)
	}
	want := image.Facts{
		ID: imageID, Platform: "linux/amd64", MACA: install("/opt/maca-2", "2.0"),
		Env: []string{"A=b"}, Labels: map[string]string{"l": "2"}, Volumes: []string{"/data"},
	}
	if diff := cmp.Diff(want, got, unexported); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"image inspect -- -x", "image mount " + bare, "image unmount " + bare}, p.said); diff != "" {
		t.Error(diff)
	}
}

// The files are real ones; links lead outside as well.
func TestPodmanFiles(t *testing.T) {
	root(t)
	p := &podman{dir: t.TempDir(), id: "a"}
	for _, err := range []error{
		os.WriteFile(filepath.Join(p.dir, "f"), []byte("1234"), 0o600),
		os.Symlink("/etc/passwd", filepath.Join(p.dir, "out")),
		os.Symlink("../../../../../../etc", filepath.Join(p.dir, "up")),
		unix.Mkfifo(filepath.Join(p.dir, "fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	o, err := image.Podman{Run: p.run}.Open(t.Context(), image.Config{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for name, want := range map[string]error{
		"/f": nil, "/out": image.ErrNotRegular, "/fifo": image.ErrNotRegular, "/": image.ErrNotRegular,
		"/none": os.ErrNotExist, "/up/passwd": os.ErrNotExist, "/f/x": unix.ENOTDIR, "/../f": nil,
	} {
		data, err := o.File(t.Context(), name, 4)
		if !errors.Is(err, want) || (want == nil) != (string(data) == "1234") {
			t.Errorf("%s is %q, %v; want %v", name, data, err, want)
		}
	}
	if data, err := o.File(t.Context(), "/f", 3); !errors.Is(err, image.ErrTooLarge) {
		t.Errorf("got %q, %v", data, err)
	}
	if s, err := o.Stat(t.Context(), "/up"); err != nil || s.Target != "../../../../../../etc" {
		t.Errorf("got %+v, %v", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Stat(ctx, "/f"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPodmanTrouble(t *testing.T) {
	root(t)
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		podman podman
		ref    string
		is     error
		said   int
	}{
		"no image":      {podman{id: "a"}, "missing", image.ErrNotFound, 1},
		"no answer":     {podman{fails: "inspect"}, "x", nil, 1},
		"no ID":         {podman{}, "x", nil, 1},
		"no mount":      {podman{id: "a", fails: "mount"}, "x", nil, 3},
		"mount nowhere": {podman{id: "a"}, "x", nil, 3},
		"mount at root": {podman{id: "a", dir: "//."}, "x", nil, 3},
		"mount of two":  {podman{id: "a", dir: dir + "\n" + dir}, "x", nil, 3},
		"mount of none": {podman{id: "a", dir: filepath.Join(dir, "none")}, "x", os.ErrNotExist, 3},
	} {
		got, err := image.Read(t.Context(), image.Podman{Run: tc.podman.run, Dir: t.TempDir()}, tc.ref, image.Cache{}, nil)
		if err == nil || tc.is != nil && !errors.Is(err, tc.is) || got.ID != "" || len(tc.podman.said) != tc.said {
			t.Errorf("%s: %+v, %v after %q; want %v", name, got, err, tc.podman.said, tc.is)
		}
	}
}

// A process that could not unmount, or was killed, leaves that to the next; the
// end-to-end tests show the latter.
func TestPodmanLeft(t *testing.T) {
	root(t)
	bare := strings.TrimPrefix(imageID, "sha256:")
	p := &podman{dir: t.TempDir(), id: bare, fails: "unmount"}
	source := image.Podman{Run: p.run, Dir: t.TempDir()}
	got, err := image.Read(t.Context(), source, "x", image.Cache{}, nil)
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "trouble") {
		t.Fatalf("got %+v, %v", got, err)
	}
	p.fails, p.said, p.id = "", nil, strings.Repeat("f", 64)
	for range 2 {
		if _, err := image.Read(t.Context(), source, "x", image.Cache{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"image inspect -- x", "image unmount " + bare, "image mount " + p.id, "image unmount " + p.id,
		"image inspect -- x", "image mount " + p.id, "image unmount " + p.id,
	}
	if diff := cmp.Diff(want, p.said); diff != "" {
		t.Error(diff)
	}
	// A record that the toolkit has not written is not passed to podman.
	for _, text := range []string{"--all", strings.Repeat("g", 64), bare + "x"} {
		testfile.Write(t, filepath.Join(source.Dir, "podman-mounted"), text, 0o600)
		p.said = nil
		if _, err := image.Read(t.Context(), source, "x", image.Cache{}, nil); err != nil || len(p.said) != 3 {
			t.Errorf("%q: %q, %v", text, p.said, err)
		}
	}
}

// Only one image is mounted at a time, and waiting for it can be canceled.
func TestPodmanTurns(t *testing.T) {
	root(t)
	p := &podman{dir: t.TempDir()}
	source := image.Podman{Run: p.run, Dir: t.TempDir()}
	first, err := source.Open(t.Context(), image.Config{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if o, err := source.Open(ctx, image.Config{ID: "b"}); !errors.Is(err, context.DeadlineExceeded) || o != nil {
		t.Errorf("got %v, %v", o, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := source.Open(t.Context(), image.Config{ID: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
