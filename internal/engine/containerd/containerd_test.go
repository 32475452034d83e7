// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
)

var metax = engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", CDI: true}

func text(lines ...string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

func TestImports(t *testing.T) {
	got, err := containerd.Imports(text(`imports = ["a.toml", "/etc//x/*.toml", "../y/*.toml"]`), "/etc/containerd/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"/etc/containerd/a.toml", "/etc/x/*.toml", "/etc/y/*.toml"}, got); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"imports = 1", "imports = [1]", "imports = [", "version = 5"} {
		_, err := containerd.Imports([]byte(bad), "/c")
		var syntax *engine.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != 1 || syntax.Column == 0 {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestRead(t *testing.T) {
	later := containerd.File{Path: "/etc/containerd/b.toml", Text: text(
		`version = 2`, `[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun.options]`, `BinaryName = "crun"`,
	)}
	main := text(
		`version = 2`, `imports = ["b.toml"]`, `[plugins."io.containerd.grpc.v1.cri"]`, `enable_cdi = false`, `cdi_spec_dirs = ["/a"]`,
		`[plugins."io.containerd.grpc.v1.cri".containerd]`, `default_runtime_name = "kata"`,
		`[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata]`,
		`options = { SystemdCgroup = true }`,
	)
	for _, tc := range []struct {
		name string
		in   containerd.Input
		want engine.State
	}{
		{"nothing", containerd.Input{}, engine.State{Runtimes: map[string]string{}}},
		{"replaced", containerd.Input{Main: main, Imported: []containerd.File{later}, Version: engine.Version{Major: 1, Minor: 7}}, engine.State{Runtimes: map[string]string{"crun": "crun"}}},
		{"merged", containerd.Input{Main: main, Imported: []containerd.File{later}, Version: engine.Version{Major: 2}}, engine.State{
			Runtimes: map[string]string{"crun": "crun", "kata": ""}, Default: "kata", CDI: engine.Off, SpecDirs: []string{"/a"}, Systemd: engine.On,
		}},
		{"not imported", containerd.Input{Main: main}, engine.State{
			Runtimes: map[string]string{"kata": ""}, Default: "kata", CDI: engine.Off, SpecDirs: []string{"/a"}, Systemd: engine.On,
		}},
		{
			"version 1 beside version 2 under 2.1",
			containerd.Input{
				Main: text(`imports = ["b.toml"]`, "[plugins.cri]", "enable_cdi = false"), Imported: []containerd.File{later},
				Version: engine.Version{Major: 2, Minor: 1},
			},
			engine.State{Runtimes: map[string]string{"crun": "crun"}, CDI: engine.Off},
		},
		{"before 1.3", containerd.Input{Main: text("[plugins.cri]", "systemd_cgroup = true")}, engine.State{Runtimes: map[string]string{}, Systemd: engine.On}},
		{"version 1 under 2.1", containerd.Input{Main: text("[plugins.cri]", "enable_cdi = true"), Version: engine.Version{Major: 2, Minor: 1}}, engine.State{Runtimes: map[string]string{}}},
		{"version 1 under 2.3", containerd.Input{Main: text("[plugins.cri]", "enable_cdi = true"), Version: engine.Version{Major: 2, Minor: 3}}, engine.State{Runtimes: map[string]string{}, CDI: engine.On}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := containerd.Read(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDisabled(t *testing.T) {
	for list, want := range map[string]bool{
		`[]`: false, `["io.containerd.snapshotter.v1.zfs"]`: false, `["cri"]`: true,
		`["io.containerd.grpc.v1.cri"]`: true, `["aufs", "io.containerd.cri.v1.runtime"]`: true,
	} {
		got, err := containerd.Disabled(containerd.Input{Main: []byte("disabled_plugins = " + list)})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", list, got, err)
		}
	}
}

func TestStale(t *testing.T) {
	main := text(`version = 2`, `[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]`, `SystemdCgroup = false`)
	in := containerd.Input{Path: containerd.DefaultPath, DropInPath: containerd.DefaultDropIn, Main: main, Version: engine.Version{Major: 1, Minor: 7, Patch: 24}}
	if containerd.Stale(in) {
		t.Error("without a drop-in")
	}
	changes, err := containerd.Configure(in, metax)
	if err != nil {
		t.Fatal(err)
	}
	set := carry(in, changes)
	for _, tc := range []struct {
		name string
		edit func(*containerd.Input)
		want bool
	}{
		{"as written", func(*containerd.Input) {}, false},
		{"comments", func(in *containerd.Input) { in.Main = append(text("# why"), in.Main...) }, false},
		{"another plugin", func(in *containerd.Input) { in.Main = append(in.Main, "[plugins.'io.x.y.z']\na = 1\n"...) }, false},
		{"a value changed", func(in *containerd.Input) { in.Main = []byte(strings.Replace(string(in.Main), "false", "true", 1)) }, true},
		{"a runtime more", func(in *containerd.Input) {
			in.Main = append(in.Main, "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.crun]\n"...)
		}, true},
		{"a runtime less", func(in *containerd.Input) {
			in.Main = text("version = 2", `imports = ["/etc/containerd/conf.d/*.toml"]`)
		}, true},
		{"a key less", func(in *containerd.Input) {
			in.Main = []byte(strings.Replace(string(in.Main), "SystemdCgroup = false", "", 1))
		}, true},
		{"another version", func(in *containerd.Input) {
			in.Main = []byte(strings.Replace(string(in.Main), "version = 2\n", "version = 3\n", 1))
			in.Version = engine.Version{Major: 2, Minor: 1}
		}, true},
		{"2.1 merges", func(in *containerd.Input) { in.Version = engine.Version{Major: 2, Minor: 1} }, true},
		{"somebody else's", func(in *containerd.Input) { in.DropIn = in.DropIn[1:] }, false},
		{"broken", func(in *containerd.Input) { in.DropIn = append(in.DropIn, '[') }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := set
			in.Main = append([]byte{}, in.Main...)
			in.DropIn = append([]byte{}, in.DropIn...)
			tc.edit(&in)
			if got := containerd.Stale(in); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestRemoveAfterEdits: Remove removes our settings and keeps what somebody edited
// since.
func TestRemoveAfterEdits(t *testing.T) {
	for _, tc := range []struct {
		name             string
		in               containerd.Input
		edit, with, want string
	}{
		{
			"imports were there",
			containerd.Input{Original: text("version = 3", `imports = ["a.toml"]`)},
			"version = 3", "version = 3 # edited", "version = 3 # edited\nimports = [\"a.toml\"]\n",
		},
		{
			"imports were not there",
			containerd.Input{Original: text("version = 3", "[debug]")},
			"[debug]", "[debug]\nlevel = \"info\"", "version = 3\n[debug]\nlevel = \"info\"\n",
		},
		{
			"imports were added to",
			containerd.Input{Original: text("version = 3")},
			`.toml"]`, `.toml", "/b.toml"]`, "version = 3\nimports = [\"/b.toml\"]\n",
		},
		{
			"the vendor's import",
			containerd.Input{Original: text("version = 3", `imports = ["/etc/containerd/conf.d/*.toml"]`)},
			"version = 3", "version = 3 # edited", "version = 3 # edited\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n",
		},
		{
			"template",
			containerd.Input{Layout: containerd.Template, Version: engine.Version{Major: 2}, Original: []byte("# mine\n{{ template \"base\" . }}")},
			"# mine", "# ours", "# ours\n{{ template \"base\" . }}\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := tc.in
			in.Path, in.DropInPath, in.Main, in.HasOriginal = containerd.DefaultPath, containerd.DefaultDropIn, in.Original, true
			s := metax
			s.Default = in.Layout != containerd.Template
			changes, err := containerd.Configure(in, s)
			if err != nil {
				t.Fatal(err)
			}
			in = carry(in, changes)
			if !strings.Contains(string(in.Main), tc.edit) {
				t.Fatalf("there is no %q to be edited in %s", tc.edit, in.Main)
			}
			in.Main = []byte(strings.Replace(string(in.Main), tc.edit, tc.with, 1))
			gone, err := containerd.Remove(in, s)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, string(carry(in, gone).Main)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestRemoveWithoutOriginal: if the original is unknown, Remove keeps what the vendor
// may have written.
func TestRemoveWithoutOriginal(t *testing.T) {
	in := containerd.Input{Path: containerd.DefaultPath, DropInPath: containerd.DefaultDropIn, Main: text("version = 2")}
	changes, err := containerd.Configure(in, metax)
	if err != nil {
		t.Fatal(err)
	}
	set := carry(in, changes)
	gone, err := containerd.Remove(set, metax)
	if err != nil {
		t.Fatal(err)
	}
	want := []engine.Change{{Path: containerd.DefaultDropIn, Before: set.DropIn, Mode: 0o644}}
	if d := cmp.Diff(want, gone); d != "" {
		t.Error(d)
	}
	set.DropIn = []byte("version = 2\n")
	if gone, err := containerd.Remove(set, metax); err != nil || len(gone) > 0 {
		t.Errorf("somebody else's file: %v, %v", gone, err)
	}
}

func TestPlaces(t *testing.T) {
	rancher := "/var/lib/rancher/k3s/agent/etc/containerd/"
	for _, tc := range []struct {
		place, text string
		want        containerd.Input
	}{
		{"containerd", "", containerd.Input{Path: containerd.DefaultPath, DropInPath: containerd.DefaultDropIn}},
		{"k3s", "version = 2\n", containerd.Input{Path: rancher + "config.toml.tmpl", DropInPath: rancher + "config.toml.d/zz-metax.toml", Layout: containerd.Template}},
		{"k3s", "version = 3\n", containerd.Input{Path: rancher + "config-v3.toml.tmpl", DropInPath: rancher + "config-v3.toml.d/zz-metax.toml", Layout: containerd.Template}},
		{
			"k3s", "version = 3\nimports = ['" + rancher + "config-v3.toml.d/*.toml']\n",
			containerd.Input{Path: rancher + "config.toml", DropInPath: rancher + "config-v3.toml.d/zz-metax.toml"},
		},
		{"k0s", "# k0s_managed=true\n", containerd.Input{Path: "/etc/k0s/containerd.toml", DropInPath: "/etc/k0s/containerd.d/zz-metax.toml", Layout: containerd.Merged}},
		{"k0s", "version = 2\n", containerd.Input{Path: "/etc/k0s/containerd.toml", DropInPath: "/etc/k0s/containerd.d/zz-metax.toml"}},
	} {
		found := false
		for _, p := range containerd.Places() {
			if p.Name != tc.place {
				continue
			}
			found = true
			got, err := p.Input([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s with %q: %s", tc.place, tc.text, d)
			}
			if p.Socket == "" || len(p.Units) == 0 {
				t.Errorf("%s has no socket or units", p.Name)
			}
		}
		if !found {
			t.Errorf("no place %s", tc.place)
		}
	}
	for _, p := range containerd.Places() {
		if _, err := p.Input([]byte("[")); err == nil {
			t.Errorf("%s takes a broken file", p.Name)
		}
	}
}

// TestDumpAfterDump: a drop-in made from a dump stays so when other files explain the
// dump.
func TestDumpAfterDump(t *testing.T) {
	s, in := corpus.Load(t, "testdata/dump.txtar")
	changes, err := containerd.Configure(in, s.Setup)
	if err != nil {
		t.Fatal(err)
	}
	in = carry(in, changes)
	in.Dump = []byte(strings.ReplaceAll(string(in.DropIn), "#", "# "))
	if again, err := containerd.Configure(in, s.Setup); err != nil || len(again) > 0 {
		t.Errorf("by the dump of what was made: %v, %q", err, again)
	}
	if containerd.Stale(in) {
		t.Error("stale")
	}
	in.Main = []byte(strings.Replace(string(in.Main), "pause:3", "pause:4", 1))
	if !containerd.Stale(in) {
		t.Error("not stale")
	}
	if _, err := containerd.Configure(containerd.Input{Main: in.Main, Dump: []byte("[")}, s.Setup); err == nil {
		t.Error("a dump that cannot be read")
	}
}
