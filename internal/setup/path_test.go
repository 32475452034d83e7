// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// link makes a symbolic link in a host.
func link(t *testing.T, h Host, target, at string) {
	t.Helper()
	testfile.Symlink(t, target, h.Root.Join(at))
}

// TestAt: links in another root's tree lead to the tree's files, never to this
// machine's.
func TestAt(t *testing.T) {
	outside := t.TempDir()
	h := newHost(t, map[string]string{"/etc/real/f": "", "/etc/managed/d.json": "", "/srv/d.json": ""})
	link(t, h, outside, "/etc/out")
	link(t, h, "/etc/real", "/etc/inner")
	link(t, h, "../../../../../../../../etc/real", "/etc/up")
	link(t, h, "/etc/managed/d.json", "/etc/docker/d.json")
	link(t, h, "/srv/d.json", "/etc/docker/far.json")
	link(t, h, outside+"/d.json", "/etc/docker/out.json")
	for p, want := range map[string]string{
		"/etc/docker/new.json":   "/etc/docker/new.json",
		"/etc/none/at/all":       "/etc/none/at/all",
		"/etc/inner/f":           "/etc/real/f",
		"/etc/inner/sub/f":       "/etc/real/sub/f",
		"/etc/up/f":              "/etc/real/f",
		"/etc/docker/d.json":     "/etc/managed/d.json",
		"/etc/docker/far.json":   "",
		"/etc/docker/out.json":   "",
		"/etc/out/daemon.json":   "",
		"/etc/out/b/daemon.json": "",
	} {
		got, err := h.At(p)
		if want == "" {
			if bad := (*backup.LinkError)(nil); !errors.As(err, &bad) {
				t.Errorf("%s: %q, %v; want a LinkError", p, got, err)
			}
		} else if d := cmp.Diff(h.Root.Join(want), got); d != "" || err != nil {
			t.Errorf("%s: %v %s", p, err, d)
		}
	}
}

// TestOnThisMachine: a file that a link leads to is edited in place, and not removed
// while the link exists.
func TestOnThisMachine(t *testing.T) {
	h := newHost(t, map[string]string{"/etc/managed/daemon.json": "{}"})
	link(t, h, "/etc/managed/daemon.json", "/etc/docker/daemon.json")
	e, err := h.Named(t.Context(), "docker", Options{})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := e.Configure(engine.Setup{Name: "metax", Runtime: "/m"})
	if err != nil || len(changes) != 1 || changes[0].Path != h.Root.Join("/etc/managed/daemon.json") {
		t.Errorf("%v, %v", changes, err)
	}
	gone := []engine.Change{{Path: "/etc/docker/daemon.json", Before: []byte("{}")}}
	if _, err := h.onThisMachine(gone, nil); err == nil {
		t.Error("want an error, as a link would lead nowhere")
	}
}
