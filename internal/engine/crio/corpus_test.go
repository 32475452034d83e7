// SPDX-License-Identifier: Apache-2.0

package crio_test

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/crio"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/test/enginetest"
)

// corpus has as input crio.conf, files of crio.conf.d and hook.json.
var corpus = enginetest.DropIns[crio.Input]{
	Editor: enginetest.Editor[crio.Input]{
		Input: func(c *enginetest.Case) crio.Input {
			in := crio.Input{Version: c.Version}
			for name, text := range c.Inputs() {
				switch {
				case name == "crio.conf":
					in.Main = dropin.File{Path: crio.Main, Text: text}
				case name == "hook.json":
					in.Hook = text
				case strings.HasPrefix(name, "crio.conf.d/"):
					in.DropIns = append(in.DropIns, dropin.File{Path: "/etc/crio/" + name, Text: text})
				}
			}
			return in
		},
		Read: crio.Read, Configure: crio.Configure, Remove: crio.Remove, States: true,
	},
	Path: crio.DropIn, IsHook: func(path string) bool { return path == crio.Hook },
	Apply: apply, Files: func(in crio.Input) []dropin.File { return in.DropIns },
}

// apply is the input after some changes, without files that are not there.
func apply(in crio.Input, changes []engine.Change) crio.Input {
	for _, c := range changes {
		if c.Path == crio.Hook {
			in.Hook = c.After
		} else {
			in.DropIns = dropin.With(in.DropIns, c.Path, c.After)
		}
	}
	in.DropIns = enginetest.Existing(in.DropIns)
	return in
}

func TestCorpus(t *testing.T) { corpus.Test(t) }

// FuzzConfigure checks the laws of the corpus on any files that Configure accepts.
func FuzzConfigure(f *testing.F) {
	for _, path := range enginetest.Paths(f) {
		c, in := corpus.Load(f, path)
		texts := [][]byte{in.Main.Text, nil, nil}
		for i, d := range in.DropIns {
			texts[1+i%2] = d.Text
		}
		f.Add(texts[0], texts[1], texts[2], c.Setup.Default, len(c.Setup.SpecDirs) > 0)
	}
	f.Add([]byte(""), []byte("# "+engine.Marker+"\n[crio.runtime]\nx=1\n[crio.runtime.runtimes.metax]\nruntime_path='/a/metax-runtime'\nz=1"), []byte("crio.runtime.cdi_spec_dirs=[]"), true, true)
	f.Fuzz(func(t *testing.T, main, own, other []byte, def, dirs bool) {
		in := crio.Input{Main: dropin.File{Path: crio.Main, Text: main}, DropIns: []dropin.File{{Path: crio.DropInDir + "/10-other.conf", Text: other}}}
		if len(own) > 0 {
			in.DropIns = append(in.DropIns, dropin.File{Path: crio.DropIn, Text: own})
		}
		s := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", Default: def}
		if dirs {
			s.SpecDirs = []string{"/etc/cdi", "/var/run/cdi"}
		}
		if _, err := crio.Configure(in, s); err == nil {
			corpus.Laws(t, in, s)
		}
	})
}
