// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestWays checks the ways of each engine at the versions where they begin, and that what
// is not set up, or not known, is left out.
func TestWays(t *testing.T) {
	ours := map[string]string{"metax": "/usr/bin/metax-runtime"}
	precreate := HookFile{Stages: []string{"precreate"}, Runs: true}
	prestart := HookFile{Stages: []string{"prestart"}, Runs: true}
	here := func(f *Facts) { f.Programs.Dir = "/usr/bin" }
	hook := func(h HookFile) func(*Facts) {
		return func(f *Facts) { here(f); f.System.Hooks = []HookFile{h} }
	}
	for _, tc := range []struct {
		name, version string
		state         engine.State
		change        func(*Facts)
		want          string
	}{
		{"docker", "18.9.0", engine.State{Runtimes: ours}, nil, "shim"},
		{"docker", "19.3.0", engine.State{}, nil, "flags"},
		{"docker", "24.0.9", engine.State{CDI: engine.On}, nil, "flags"},
		{"docker", "25.0.0", engine.State{}, nil, "flags"},
		{"docker", "25.0.0", engine.State{CDI: engine.On, Runtimes: ours}, nil, "cdi flags shim"},
		{"docker", "28.1.9", engine.State{}, nil, "flags"},
		{"docker", "28.2.0", engine.State{}, nil, "cdi flags"},
		{"docker", "28.2.0", engine.State{CDI: engine.Off}, nil, "flags"},
		{"docker", "28.2.0", engine.State{Runtimes: map[string]string{"runc": "/usr/bin/runc"}}, hook(precreate), "cdi flags"},
		{"docker", "28.2.0", engine.State{Runtimes: ours}, func(f *Facts) { f.Engines.Docker.Missing = []string{"metax"} }, "cdi flags"},
		{"docker", "28.2.0", engine.State{Runtimes: ours}, func(f *Facts) { f.Engines.Docker.Broken = "line 1" }, ""},
		{"docker", "", engine.State{CDI: engine.On}, nil, ""},
		{"containerd", "1.6.36", engine.State{CDI: engine.On}, nil, ""},
		{"containerd", "1.7.0", engine.State{}, nil, ""},
		{"containerd", "1.7.0", engine.State{CDI: engine.On}, nil, "cdi"},
		{"containerd", "2.0.0", engine.State{Runtimes: ours}, nil, "cdi shim"},
		{"containerd", "2.0.0", engine.State{CDI: engine.Off}, nil, ""},
		{"containerd", "2.0.0", engine.State{}, func(f *Facts) { f.Engines.Containerd.NoCRI = true }, ""},
		{"crio", "1.22.9", engine.State{}, nil, ""},
		{"crio", "1.23.0", engine.State{}, hook(prestart), "cdi hook"},
		{"crio", "1.23.0", engine.State{}, hook(precreate), "cdi"},
		{"podman", "3.4.4", engine.State{}, hook(precreate), "flags hook"},
		{"podman", "4.0.0", engine.State{}, hook(prestart), "cdi flags hook"},
		{"podman", "4.0.0", engine.State{}, hook(HookFile{Stages: []string{"precreate"}}), "cdi flags"},
		{"podman", "4.0.0", engine.State{}, func(f *Facts) { f.System.Hooks = []HookFile{prestart} }, "cdi flags"},
		{"podman", "4.0.0", engine.State{}, func(f *Facts) { hook(prestart)(f); f.System.MissingCalls = []string{"openat2"} }, "cdi flags"},
		{"podman", "4.0.0", engine.State{}, func(f *Facts) { hook(precreate)(f); f.System.MissingCalls = []string{"openat2"} }, "cdi flags hook"},
	} {
		var f Facts
		e := map[string]*Engine{"docker": &f.Engines.Docker.Engine, "containerd": &f.Engines.Containerd.Engine, "crio": &f.Engines.CRIO, "podman": &f.Engines.Podman}[tc.name]
		*e = Engine{Name: tc.name, Program: "/usr/bin/" + tc.name, Version: engine.ParseVersion("v " + tc.version), State: tc.state}
		if tc.change != nil {
			tc.change(&f)
		}
		want := []PlatformEngine{{Name: tc.name, Version: tc.version, Ways: strings.Fields(tc.want)}}
		if d := cmp.Diff(want, f.hostPlatform().Engines); d != "" {
			t.Errorf("%+v: %s", tc.state, d)
		}
	}
}

// TestDistribution reads os-release below the root only: no link leads out, and without
// the files of a host nothing of this machine takes their place.
func TestDistribution(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "os-release")
	testfile.Write(t, outside, "PRETTY_NAME=\"Outside\"\n", 0o644)
	file := sim.File{Data: "ID=x\nPRETTY_NAME='A \x1b Linux'\n"}
	for name, tc := range map[string]struct {
		etc, usr sim.Entry
		want     string
	}{
		"a file":            {file, nil, "A \ufffd Linux"},
		"a link":            {sim.Link("/usr/lib/os-release"), file, "A \ufffd Linux"},
		"the vendor's file": {nil, file, "A \ufffd Linux"},
		"no name":           {sim.File{Data: "ID=x\n"}, nil, ""},
		"a link out":        {sim.Link(outside), nil, ""},
		"no file":           {nil, nil, ""},
	} {
		b := newBench(t, "c500-1")
		b.drop("etc/os-release", "proc/sys/kernel/osrelease")
		for p, e := range map[string]sim.Entry{"etc/os-release": tc.etc, "usr/lib/os-release": tc.usr} {
			if e != nil {
				b.tree[p] = e
			}
		}
		b.write()
		b.c.Here, b.c.Ask = false, nil // another host's files
		f, err := Collect(context.Background(), b.c)
		b.must(err)
		p := f.hostPlatform()
		if p.Distribution != tc.want || p.Kernel != "" || len(f.Troubles) > 0 {
			t.Errorf("%s: %+v, %v", name, p, f.Troubles)
		}
		for _, e := range p.Engines {
			if e.Version != "" {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}
