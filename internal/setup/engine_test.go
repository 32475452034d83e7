// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// newHost makes a host of files by their paths; a path that ends in a slash is a
// directory.
func newHost(t *testing.T, files map[string]string) Host {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		at := filepath.Join(dir, path)
		testfile.Mkdir(t, filepath.Dir(at), 0o755)
		if strings.HasSuffix(path, "/") {
			testfile.Mkdir(t, at, 0o755)
			continue
		}
		testfile.Write(t, at, text, 0o755)
	}
	root := simtest.Root(t, dir)
	return Host{Root: root}
}

func TestFound(t *testing.T) {
	const docker, containerd = "/usr/bin/dockerd", "/usr/bin/containerd"
	for name, tc := range map[string]struct {
		files []string
		want  string // names, with * for those skipped
	}{
		"nothing":                          {nil, ""},
		"docker":                           {[]string{docker}, "docker"},
		"docker's configuration alone":     {[]string{"/etc/docker/daemon.json"}, "docker"},
		"docker and its containerd":        {[]string{docker, containerd}, "docker containerd*"},
		"docker and a kubelet":             {[]string{docker, containerd, "/usr/local/bin/kubelet"}, "docker containerd"},
		"a kubelet whose program is away":  {[]string{docker, containerd, "/var/lib/kubelet/"}, "docker containerd"},
		"containerd":                       {[]string{containerd}, "containerd"},
		"all":                              {[]string{docker, "/usr/bin/crio", "/usr/local/bin/podman", "/usr/bin/kubelet", containerd}, "docker containerd crio podman"},
		"k3s, started once":                {[]string{"/var/lib/rancher/k3s/agent/etc/containerd/config.toml"}, "k3s"},
		"a directory in a program's place": {[]string{"/usr/bin/podman/"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"/etc/": ""}
			for _, f := range tc.files {
				files[f] = ""
				if strings.HasSuffix(f, ".json") {
					files[f] = "{}"
				}
			}
			found, err := newHost(t, files).Found(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range found {
				word := e.Name
				if e.SkipReason != "" {
					word += "*"
				}
				got = append(got, word)
			}
			if d := cmp.Diff(tc.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSkipReason: a containerd whose CRI is off, as in Docker's packages, serves no
// kubelet and is skipped.
func TestSkipReason(t *testing.T) {
	h := newHost(t, map[string]string{
		"/usr/bin/containerd": "", "/usr/bin/kubelet": "",
		"/etc/containerd/config.toml": "disabled_plugins = [\"cri\"]\n",
	})
	e, err := h.Named(t.Context(), "containerd", Options{})
	if err != nil || !strings.Contains(e.SkipReason, "switched off") {
		t.Errorf("aside is %q, %v", e.SkipReason, err)
	}
}

// TestUnreadable: an engine whose configuration cannot be read does not keep the others
// from being set up.
func TestUnreadable(t *testing.T) {
	h := newHost(t, map[string]string{"/usr/bin/crio": "", "/etc/containerd/config.toml": "version = \n"})
	found, err := h.Found(t.Context())
	if err != nil || len(found) != 2 {
		t.Fatalf("%d engines, %v", len(found), err)
	}
	for _, do := range []func(engine.Setup) ([]engine.Change, error){found[0].Configure, found[0].Remove} {
		if _, err := do(engine.Setup{Name: "metax"}); err == nil || !strings.Contains(err.Error(), "config.toml: line 1") {
			t.Errorf("error is %v", err)
		}
	}
	if _, err := found[1].Configure(engine.Setup{Name: "metax", Runtime: "/m"}); err != nil {
		t.Error(err)
	}
}

func TestNamedUnknown(t *testing.T) {
	if _, err := newHost(t, nil).Named(t.Context(), "rkt", Options{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("error is %v", err)
	}
}

// TestImportedFiles: imports of imports count once, and circular imports end.
func TestImportedFiles(t *testing.T) {
	files := map[string]string{
		"/etc/containerd/config.toml": "version = 3\nimports = ['/etc/containerd/conf.d/*.toml', 'more/a.toml']\n",
		"/etc/containerd/more/a.toml": "version = 3\nimports = ['../b.toml', 'a.toml']\n",
		"/etc/containerd/b.toml": `version = 3
imports = ['config.toml']
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.far]
runtime_type = 'io.containerd.runc.v2'
`,
		"/etc/containerd/conf.d/10-near.toml": `version = 3
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.near]
runtime_type = 'io.containerd.runc.v2'
`,
		"/etc/containerd/conf.d/notes.txt": "no configuration",
	}
	e, err := newHost(t, files).Named(t.Context(), "containerd", Options{Version: engine.Version{Major: 2, Minor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	state, err := e.State()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"near", "far"} {
		if _, ok := state.Runtimes[name]; !ok {
			t.Errorf("the runtime %q is not among %v", name, state.Runtimes)
		}
	}
	many := map[string]string{"/etc/containerd/config.toml": "version = 3\nimports = ['conf.d/*.toml']\n"}
	for i := range maxImports + 1 {
		many[fmt.Sprintf("/etc/containerd/conf.d/%03d.toml", i)] = "version = 3\n"
	}
	e, err = newHost(t, many).Named(t.Context(), "containerd", Options{})
	if err == nil {
		_, err = e.State()
	}
	if err == nil || !strings.Contains(err.Error(), "more than 256 files") {
		t.Errorf("error is %v", err)
	}
}

// TestImportedPatterns: a pattern may have several directories; without an asterisk it
// is a path.
func TestImportedPatterns(t *testing.T) {
	entry := "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes."
	e, err := newHost(t, map[string]string{
		"/etc/containerd/config.toml":   "version = 3\nimports = ['/etc/containerd/*.d/*.toml', '/etc/containerd/x[1].toml', '/etc/[']\n",
		"/etc/containerd/a.d/99-a.toml": entry + "wide]\n",
		"/etc/containerd/x[1].toml":     entry + "literal]\n",
	}).Named(t.Context(), "containerd", Options{Version: engine.Version{Major: 2, Minor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	state, err := e.State()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"wide", "literal"} {
		if _, ok := state.Runtimes[name]; !ok {
			t.Errorf("the runtime %q is not among %v", name, state.Runtimes)
		}
	}
}

// TestCRIODirectories: CRI-O also reads the files in subdirectories.
func TestCRIODirectories(t *testing.T) {
	e, err := newHost(t, map[string]string{
		"/etc/crio/crio.conf.d/10.conf/20.conf": "[crio.runtime]\ndefault_runtime = 'far'\n",
		"/etc/crio/crio.conf.d/05.conf":         "[crio.runtime]\ndefault_runtime = 'near'\n",
	}).Named(t.Context(), "crio", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if state, err := e.State(); err != nil || state.Default != "far" {
		t.Errorf("the default is %q, %v", state.Default, err)
	}
}

func TestDockerActivate(t *testing.T) {
	const restart, reload = "systemctl restart docker", "systemctl reload docker"
	for _, tc := range []struct{ before, after, want string }{
		{``, `{"runtimes":{"metax":{"path":"/m"}}}`, reload},
		{`{"debug":true}`, `{"debug":true,"default-runtime":"metax","runtimes":{"metax":{"path":"/m"}}}`, reload},
		{`{"runtimes":{"metax":{"path":"/m"}}}`, `{}`, restart},
		{`{"runtimes":{"metax":{"path":"/m"},"other":{"path":"/o"}}}`, `{"runtimes":{"other":{"path":"/o"}}}`, reload},
		{`{"default-runtime":"metax","runtimes":{"metax":{"path":"/m"},"other":{"path":"/o"}}}`, `{"runtimes":{"other":{"path":"/o"}}}`, restart},
		{`{}`, `{"features":{"cdi":true}}`, restart},
		{`{"features":{"cdi":false}}`, `{"features":{"cdi":true}}`, restart},
		{`{}`, `{"cdi-spec-dirs":["/etc/cdi"]}`, restart},
	} {
		var before []byte
		if tc.before != "" {
			before = []byte(tc.before)
		}
		if got := dockerActivate([]backup.Change{{Before: before, After: []byte(tc.after)}}); got != tc.want {
			t.Errorf("%s → %s: %q, want %q", tc.before, tc.after, got, tc.want)
		}
	}
}

func TestUnit(t *testing.T) {
	units := []string{"k3s", "k3s-agent"}
	for file, want := range map[string]string{
		"/etc/":                                  "k3s",
		"/etc/systemd/system/k3s-agent.service":  "k3s-agent",
		"/usr/lib/systemd/system/k3s.service":    "k3s",
		"/etc/systemd/system/k3s-agent2.service": "k3s",
	} {
		if got := newHost(t, map[string]string{file: ""}).installedUnit(units); got != want {
			t.Errorf("with %s the unit is %q, want %q", file, got, want)
		}
	}
}

func TestStartedSince(t *testing.T) {
	h := newHost(t, map[string]string{"/run/s": "", "/etc/c": ""})
	for _, tc := range []struct {
		config time.Duration // of the configuration, after the socket
		ok     bool
	}{{-time.Hour, true}, {time.Hour, false}} {
		at := time.Now().Add(tc.config)
		if err := os.Chtimes(h.Root.Join("/etc/c"), at, at); err != nil {
			t.Fatal(err)
		}
		if p := h.startedSince("/run/s", []string{"/etc/c", "/etc/none"}); p.OK != tc.ok {
			t.Errorf("%v: %v", tc.config, p)
		}
	}
	if p := h.startedSince("/run/none", nil); p.OK || !strings.Contains(p.Detail, "does not run") {
		t.Errorf("without a socket: %v", p)
	}
}

// TestTryContainer: the container's exit code is the result, because its output may be
// lost.
func TestTryContainer(t *testing.T) {
	for _, tc := range []struct {
		line, said, want string
	}{
		{"true", "", "ok         w: 2 device nodes"},
		{"true", "lost", "ok         w: 2 device nodes"},
		{"exit 4", "it lacks /dev/mxcd\n", "FAILED     w: it lacks /dev/mxcd; to fix it: metax-ctk doctor"},
		{"exit 4", "", "FAILED     w: exit status 4; to fix it: metax-ctk doctor"},
		{"exit 125", "no such image", "FAILED     w: exit status 125; to fix it: metax-ctk doctor"},
	} {
		h := Host{Nodes: []string{"/dev/dri/card0", "/dev/mxcd"}}
		var line []string
		h.Run = func(_ context.Context, _ string, args ...string) ([]byte, error) {
			line = args
			return []byte(tc.said), exec.Command("sh", "-c", tc.line).Run()
		}
		if got := h.tryContainer(t.Context(), "w", "engine", []string{"run"}).String(); got != tc.want {
			t.Errorf("%s, %q: %q, want %q", tc.line, tc.said, got, tc.want)
		}
		if got, want := strings.Join(line, " "), "run /metax-ctk runtime witness --check /dev/dri/card0 /dev/mxcd"; got != want {
			t.Errorf("ran %q, want %q", got, want)
		}
	}
}

func TestDifference(t *testing.T) {
	want := []string{"/dev/dri/card0", "/dev/mxcd"}
	for seen, says := range map[string]string{
		"/dev/dri/card0 /dev/mxcd":            "",
		"/dev/mxcd":                           "it lacks /dev/dri/card0",
		"":                                    "it lacks /dev/dri/card0, /dev/mxcd",
		"/dev/dri/card0 /dev/dri/c /dev/mxcd": "it also has /dev/dri/c",
	} {
		if got := Difference(want, strings.Fields(seen)); got != says {
			t.Errorf("%s: %q, want %q", seen, got, says)
		}
	}
}
