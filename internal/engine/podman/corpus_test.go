// SPDX-License-Identifier: Apache-2.0

package podman_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/podman"
	"github.com/metax-ctk/container-toolkit/test/enginetest"
)

// corpus has as input vendor.conf, containers.conf, and files of containers.conf.d and
// hooks.d. The flag crio means that CRI-O reads the hooks also.
var corpus = enginetest.DropIns[podman.Input]{
	Editor: enginetest.Editor[podman.Input]{
		Flags: []string{"crio"},
		Input: func(c *enginetest.Case) podman.Input {
			in := podman.Input{Version: c.Version}
			_, in.CRIO = c.Flag("crio")
			for name, text := range c.Inputs() {
				switch {
				case name == "vendor.conf":
					in.Vendor = dropin.File{Path: podman.Vendor, Text: text}
				case name == "containers.conf":
					in.Main = dropin.File{Path: podman.Main, Text: text}
				case strings.HasPrefix(name, "containers.conf.d/"):
					in.DropIns = append(in.DropIns, dropin.File{Path: "/etc/containers/" + name, Text: text})
				case strings.HasPrefix(name, "hooks.d/"):
					in.Hooks = append(in.Hooks, dropin.File{Path: podman.HookDir + "/" + filepath.Base(name), Text: text})
				}
			}
			return in
		},
		Read: podman.Read, Configure: podman.Configure, Remove: podman.Remove, States: true,
	},
	Path: podman.DropIn, IsHook: func(path string) bool { return strings.HasPrefix(path, podman.HookDir+"/metax-") },
	Apply: apply, Files: func(in podman.Input) []dropin.File { return in.DropIns },
}

// apply is the input after some changes, without files that are not there.
func apply(in podman.Input, changes []engine.Change) podman.Input {
	for _, c := range changes {
		if strings.HasPrefix(c.Path, podman.HookDir) {
			in.Hooks = dropin.With(in.Hooks, c.Path, c.After)
		} else {
			in.DropIns = dropin.With(in.DropIns, c.Path, c.After)
		}
	}
	in.Hooks, in.DropIns = enginetest.Existing(in.Hooks), enginetest.Existing(in.DropIns)
	return in
}

func TestCorpus(t *testing.T) { corpus.Test(t) }

// FuzzConfigure checks the laws of the corpus on any files that Configure accepts.
func FuzzConfigure(f *testing.F) {
	for _, path := range enginetest.Paths(f) {
		c, in := corpus.Load(f, path)
		texts := [][]byte{in.Main.Text, in.Vendor.Text, nil}
		for _, d := range in.DropIns {
			texts[2] = d.Text
		}
		f.Add(texts[0], texts[1], texts[2], c.Setup.Default, c.Setup.Hook != "")
	}
	f.Add([]byte(""), []byte("# "+engine.Marker+"\n[engine]\nx=1\n[engine.runtimes]\nmetax=['/a/metax-runtime']\nz=['/z']"), []byte("engine.hooks_dir=[{append=true}]"), true, true)
	f.Fuzz(func(t *testing.T, main, own, other []byte, def, hook bool) {
		in := podman.Input{
			Main: dropin.File{Path: podman.Main, Text: main}, Version: engine.Version{Major: 5, Minor: 5},
			DropIns: []dropin.File{{Path: podman.DropInDir + "/10-other.conf", Text: other}},
		}
		if len(own) > 0 {
			in.DropIns = append(in.DropIns, dropin.File{Path: podman.DropIn, Text: own})
		}
		s := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", Default: def, CDI: true}
		if hook {
			s.Hook = "/usr/bin/metax-hook"
		}
		if _, err := podman.Configure(in, s); err == nil {
			corpus.Laws(t, in, s)
		}
	})
}
