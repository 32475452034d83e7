// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// TestDockerKeys: a file that dockerd refuses is not edited, and dockerd's reason is quoted.
func TestDockerKeys(t *testing.T) {
	const unit = `f=$3; case $f in */etc/*) f=/etc/${f##*/etc/} ;; esac
echo "unable to configure the Docker daemon with file $f: merged configuration validation from file and command line flags failed: invalid userland-proxy-path: userland-proxy is enabled, but userland-proxy-path is not set" >&2; exit 1`
	const script = `#!/bin/sh
case "$1 $(cat "$3" 2>/dev/null)" in
*old*) echo "unknown flag: --validate" >&2; exit 125 ;;
--validate*debgu*) echo "unable to configure the Docker daemon with file /etc/docker/daemon.json: the following directives don't match any configuration option: debgu" >&2; exit 1 ;;
--validate*) echo "configuration OK" ;;
esac
`
	for name, tc := range map[string]struct{ script, file, want string }{
		"a key that it refuses":            {script, "{\n  \"debgu\": true\n}\n", "don't match any configuration option: debgu"},
		"keys that it knows":               {script, `{"debug": true}`, ""},
		"one that cannot say":              {script, `{"labels": ["old=1"]}`, ""},
		"what an option of its unit fixes": {"#!/bin/sh\n" + unit, `{"debug": true}`, ""},
		"that, and a key that it refuses":  {script + unit, `{"debgu": true}`, "configuration option: debgu"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, map[string]string{"/etc/docker/daemon.json": tc.file, "/usr/bin/dockerd": tc.script})
			h.Run = func(ctx context.Context, path string, args ...string) ([]byte, error) {
				for i, arg := range args { // as below the root of the host
					if strings.HasPrefix(arg, h.Root.Dir()) {
						t.Errorf("a program of the host is given the path %s", arg)
					}
					if strings.HasPrefix(arg, "/etc/") {
						args[i] = h.Root.Join(arg)
					}
				}
				return child.Run(ctx, h.Root.Join(path), args...)
			}
			e, err := h.Named(t.Context(), "docker", Options{Version: engine.Version{Major: 28, Minor: 5}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Configure(engine.Setup{Name: "metax", Runtime: "/m"})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	h := newHost(t, map[string]string{"/etc/docker/daemon.json": "{}", "/usr/bin/dockerd": ""})
	h.Run = func(context.Context, string, ...string) ([]byte, error) { return nil, exec.ErrNotFound }
	e, err := h.Named(t.Context(), "docker", Options{Version: engine.Version{Major: 28, Minor: 5}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Configure(engine.Setup{Name: "metax", Runtime: "/m"}); err != nil {
		t.Errorf("a dockerd that does not run: %v", err)
	}
}

// TestNotStarted: k3s and rke2 write their configuration when they start; without it, nothing
// is written in its place.
func TestNotStarted(t *testing.T) {
	for _, name := range []string{"k3s", "rke2"} {
		h := newHost(t, map[string]string{"/etc/hostname": "n\n"})
		e, err := h.Named(t.Context(), name, Options{Version: engine.Version{Major: 2}})
		if err != nil {
			t.Fatal(err)
		}
		want := "/var/lib/rancher/" + name + "/agent/etc/containerd/config.toml does not exist: " + name + " writes it when it starts"
		if changes, err := e.Configure(engine.Setup{Name: "metax", Runtime: "/m"}); err == nil || !strings.Contains(err.Error(), want) || changes != nil {
			t.Errorf("%s: %v, %v; want %q", name, changes, err, want)
		}
		if changes, err := e.Remove(engine.Setup{Name: "metax"}); err != nil || changes != nil {
			t.Errorf("%s: remove: %v, %v", name, changes, err)
		}
	}
}
