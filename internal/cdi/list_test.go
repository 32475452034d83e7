// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// small is a spec with the named devices.
func small(kind string, devices ...string) string {
	s := "cdiVersion: 0.5.0\nkind: " + kind + "\ndevices:\n"
	for _, d := range devices {
		s += fmt.Sprintf("- {name: %q, containerEdits: {env: [A=1]}}\n", d)
	}
	return s
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	host := simtest.Root(t, dir)
	for path, text := range map[string]string{
		"etc/cdi/a.yaml":              small("m.org/gpu", "1", "0", "old"),
		"etc/cdi/b.json":              small("m.org/gpu", "two"),
		"etc/cdi/c.json":              small("m.org/gpu", "two", "0"),
		"etc/cdi/gpu.yml":             small("m.org/gpu", "unseen"),
		"etc/cdi/other.json":          small("n.org/gpu", "0"),
		"etc/cdi/otherbad.json":       "kind: n.org/gpu\n",
		"etc/cdi/sub.json/x.json":     small("m.org/gpu", "unseen"),
		"var/run/cdi/bad.json":        "{",
		"var/run/cdi/m.org-gpu.json":  small("m.org/gpu", "all", "1"),
		"var/run/cdi/oursbroken.json": small("m.org/gpu"),
	} {
		put(t, filepath.Join(dir, path), text, 0o644)
	}
	put(t, filepath.Join(dir, "var/run/cdi/secret.json"), small("m.org/gpu", "secret"), 0o600)

	l := List(host, append([]string{"/none"}, Dirs()...), "m.org/gpu")
	want := Listing{
		Files: []File{
			{Path: "/etc/cdi/a.yaml", Priority: 1, Kind: "m.org/gpu", Mode: "0644"},
			{Path: "/etc/cdi/b.json", Priority: 1, Kind: "m.org/gpu", Mode: "0644"},
			{Path: "/etc/cdi/c.json", Priority: 1, Kind: "m.org/gpu", Mode: "0644"},
			{Path: "/var/run/cdi/bad.json", Priority: 2, Mode: "0644", Error: "invalid CDI spec: yaml: line 1: did not find expected node content"},
			{Path: "/var/run/cdi/m.org-gpu.json", Priority: 2, Kind: "m.org/gpu", Mode: "0644"},
			{Path: "/var/run/cdi/oursbroken.json", Priority: 2, Kind: "m.org/gpu", Mode: "0644", Error: "invalid CDI spec: no devices"},
			{Path: "/var/run/cdi/secret.json", Priority: 2, Kind: "m.org/gpu", Mode: "0600"},
		},
		Devices: []Device{
			{Name: "m.org/gpu=secret", File: "/var/run/cdi/secret.json"},
			{Name: "m.org/gpu=all", File: "/var/run/cdi/m.org-gpu.json"},
			{Name: "m.org/gpu=1", File: "/var/run/cdi/m.org-gpu.json", Shadowed: []string{"/etc/cdi/a.yaml"}},
			{Name: "m.org/gpu=two", Conflict: []string{"/etc/cdi/b.json", "/etc/cdi/c.json"}},
			{Name: "m.org/gpu=0", Conflict: []string{"/etc/cdi/a.yaml", "/etc/cdi/c.json"}},
			{Name: "m.org/gpu=old", File: "/etc/cdi/a.yaml"},
		},
	}
	if diff := cmp.Diff(want, l, cmpopts.IgnoreUnexported(File{}, Listing{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantProblems := []Problem{
		{CodeFile, "/var/run/cdi/bad.json", nil, "invalid CDI spec: yaml: line 1: did not find expected node content", false},
		{CodeFile, "/var/run/cdi/oursbroken.json", nil, "invalid CDI spec: no devices", false},
		{CodePermission, "/var/run/cdi/secret.json", nil, "mode 0600; engines that do not run as root cannot read it", false},
		{CodeShadowed, "/etc/cdi/a.yaml", []string{"m.org/gpu=1"}, "overridden by /var/run/cdi/m.org-gpu.json", false},
		{CodeConflict, "/etc/cdi/b.json, /etc/cdi/c.json", []string{"m.org/gpu=two"}, "define the same device, so that no engine resolves it", false},
		{CodeConflict, "/etc/cdi/a.yaml, /etc/cdi/c.json", []string{"m.org/gpu=0"}, "define the same device, so that no engine resolves it", false},
	}
	if diff := cmp.Diff(wantProblems, l.Problems()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all := List(host, Dirs(), ""); len(all.Files) != 9 || all.Devices[len(all.Devices)-1].Name != "n.org/gpu=0" {
		t.Errorf("of every kind: %v", all)
	}
	if none := List(host, []string{"/none"}, ""); len(none.Files)+len(none.Devices)+len(none.Problems()) != 0 {
		t.Errorf("of a directory that is not there: %v", none)
	}
	put(t, filepath.Join(dir, "file"), "", 0o644)
	if got := List(host, []string{"/file"}, "m.org/gpu").Problems(); len(got) != 1 || got[0].Code != CodeFile || got[0].Subject != "/file" {
		t.Errorf("of a file: %v", got)
	}
}

// The library's cache is what engines ask; on any directories, List must say the same.
func TestListAgrees(t *testing.T) {
	host := simtest.Root(t, "/")
	rng := rand.New(rand.NewPCG(1, 2))
	kinds := []string{"m.org/gpu", "m.org/maca", "n.org/gpu"}
	names := []string{"0", "1", "all", "x"}
	conflicts := 0
	for range 50 {
		root := t.TempDir()
		dirs := []string{filepath.Join(root, "a"), filepath.Join(root, "b"), filepath.Join(root, "c")}
		for _, dir := range dirs[:2+rng.IntN(2)] {
			for i := range 1 + rng.IntN(4) {
				devices := slices.DeleteFunc(slices.Clone(names), func(string) bool { return rng.IntN(3) > 0 })
				text := small(kinds[rng.IntN(len(kinds))], devices...) // without devices it is invalid
				if rng.IntN(6) == 0 {
					text += "---\nmore\n" // engines do not care, Decode would
				}
				put(t, filepath.Join(dir, fmt.Sprintf("%d.%s", i, []string{"json", "yaml", "txt"}[rng.IntN(3)])), text, 0o644)
			}
		}
		cache, err := libcdi.NewCache(libcdi.WithAutoRefresh(false), libcdi.WithSpecDirs(dirs...))
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, name := range cache.ListDevices() {
			want = append(want, name+" "+cache.GetDevice(name).GetSpec().GetPath())
		}
		for _, d := range List(host, dirs, "").Devices {
			if d.File != "" {
				got = append(got, d.Name+" "+d.File)
			} else {
				conflicts++
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-library +ours):\n%s", diff)
		}
	}
	if conflicts == 0 {
		t.Error("no conflict among the cases")
	}
}

func TestListSurvivesHoles(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.json"), strings.Replace(least, `"env": ["A=1"]`, `"deviceNodes": [null]`, 1), 0o644)
	host := simtest.Root(t, dir)
	l := List(host, []string{"/"}, "v.org/c")
	if got := l.Problems(); len(l.Devices) != 0 || len(got) != 2 || got[0].Code != CodeFile || got[1].Code != CodeName {
		t.Errorf("%v", l)
	}
}
