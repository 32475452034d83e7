// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// Podman runs the hooks that the package brings, of either stage and of both, for
// containers with our annotations and for no others.
func TestHooksDir(t *testing.T) {
	rows := []struct {
		suite   string
		layout  sandbox.Layout
		runtime string
		version string
	}{
		{"sid", sandbox.V1, "runc", "5."},
		{"sid", sandbox.V2, "runc", "5."},
		{"sid", sandbox.V1, "crun", "5."},
		{"sid", sandbox.V2, "crun", "5."},
		{"trixie", sandbox.V2, "runc", "5.4."},
		{"trixie", sandbox.V2, "crun", "5.4."},
		{"bookworm", sandbox.V1, "runc", "4.3."},
		{"bookworm", sandbox.V1, "crun", "4.3."},
	}
	stages := map[string][]string{
		"precreate": {"metax-precreate-podman.json"},
		"prestart":  {"metax-prestart-podman-crio.json"},
		"both":      {"metax-precreate-podman.json", "metax-prestart-podman-crio.json"},
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%s/%s/%s", row.suite, row.layout, row.runtime), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout)
			h.podman(t, row.version, row.runtime)
			h.installHook(t)
			for name, files := range stages {
				t.Run(name, func(t *testing.T) {
					dir := h.hooksDir(t, files)
					p := podmanHooks{h, dir, name != "prestart", strings.HasPrefix(row.version, "4.")}
					p.sees(t, "1,3", 1, 3)
					p.sees(t, "")
					p.refuses(t, "77", "metax-tech.com/gpu=77")
				})
			}
		})
	}
}

// installHook puts the hook where the package does.
func (h *host) installHook(t *testing.T) {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(fixed.bin, "metax-hook"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Path("/usr/bin/metax-hook"), program, 0o755); err != nil {
		t.Fatal(err)
	}
}

// hooksDir makes a directory of the packaged hooks.
func (h *host) hooksDir(t *testing.T, files []string) string {
	t.Helper()
	dir := fmt.Sprintf("/run/hooks/%d", inboxes.Add(1))
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "hooks.d", name))
		if err != nil {
			t.Fatal(err)
		}
		h.write(t, filepath.Join(dir, name), string(text))
	}
	return dir
}

type podmanHooks struct {
	*host
	dir    string
	groups bool // the stage can give them
	quote  bool // Podman 4 takes a comma for the beginning of another annotation
}

func (p podmanHooks) argv(in inbox, gpus string, options ...string) []string {
	argv := append([]string{
		"podman", "--hooks-dir", p.dir, "run", "--rm", "--network=none", "--volume", in.dir + ":" + report.Dir,
		"--cap-add=MKNOD", "--cgroup-parent=" + p.Cgroup(),
	}, options...)
	if word := "metax-tech.com/gpu=" + gpus; gpus != "" && p.quote {
		argv = append(argv, "--annotation="+strconv.Quote(word))
	} else if gpus != "" {
		argv = append(argv, "--annotation="+word)
	}
	return append(argv, imageRef, "/probe", "look")
}

func (p podmanHooks) sees(t *testing.T, ask string, gpus ...int) {
	t.Helper()
	in := p.inbox(t)
	p.must(t, nil, append(p.argv(in, ask), p.numbers(t)...)...)
	want, allowed, got := map[string]string{}, map[string]bool{}, map[string]string{}
	for _, g := range gpus {
		for _, path := range p.gpus[g].Nodes {
			major, minor := p.number(t, path)
			want[path] = fmt.Sprintf("%d:%d %s", major, minor, openedNode)
			allowed[fmt.Sprintf("%d:%d", major, minor)] = true
		}
	}
	r := in.report(t)
	for _, n := range r.Nodes {
		if strings.HasPrefix(n.Path, "/dev/dri/") {
			got[n.Path] = fmt.Sprintf("%d:%d %s", n.Major, n.Minor, n.Open)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asking for %q: nodes: %s", ask, diff)
	}
	for _, n := range r.Made {
		if want := map[bool]string{true: openedNode, false: "EPERM"}[allowed[fmt.Sprintf("%d:%d", n.Major, n.Minor)]]; n.Open != want {
			t.Errorf("asking for %q: made %d:%d: %q, opened: %q, want %q", ask, n.Major, n.Minor, n.Mknod, n.Open, want)
		}
	}
	// Another user needs the group, which only the stage precreate can add.
	if ask == "" {
		return
	}
	in = p.inbox(t)
	if p.groups {
		p.must(t, nil, p.argv(in, ask, "--user=1000:1000")...)
		if groups := in.report(t).Groups; !strings.Contains(fmt.Sprint(groups), fmt.Sprint(videoGID)) {
			t.Errorf("groups %v, want also %d", groups, videoGID)
		}
	} else if r := p.run(t, nil, p.argv(in, ask, "--user=1000:1000")...); r.code == 0 {
		t.Error("a user without the group gets a GPU that it cannot open")
	}
}

func (p podmanHooks) refuses(t *testing.T, ask, word string) {
	t.Helper()
	in := p.inbox(t)
	r := p.run(t, nil, p.argv(in, ask)...)
	if r.code == 0 {
		t.Errorf("asking for %q: %v", ask, r)
	}
	t.Logf("asking for %q: %s", ask, strings.TrimSpace(r.stderr))
	if _, err := os.Stat(filepath.Join(in.path, report.Look)); err == nil {
		t.Errorf("asking for %q: the container has started", ask)
	}
}
