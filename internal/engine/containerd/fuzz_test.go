// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"bytes"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/test/enginetest"
)

// FuzzConfigure checks the laws of the corpus on any files that Configure accepts.
func FuzzConfigure(f *testing.F) {
	for _, path := range enginetest.Paths(f) {
		s, in := corpus.Load(f, path)
		imported := []byte{}
		if len(in.Imported) > 0 {
			imported = in.Imported[0].Text
		}
		f.Add(in.Main, imported, in.Version.Major, in.Version.Minor, uint8(in.Layout), s.Setup.Default, s.Setup.CDI)
	}
	f.Fuzz(func(t *testing.T, main, imported []byte, major, minor int, layout uint8, isDefault, cdi bool) {
		s := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", Default: isDefault, CDI: cdi}
		in := containerd.Input{
			Path: containerd.DefaultPath, DropInPath: containerd.DefaultDropIn, Main: main,
			Version: engine.Version{Major: major % 3, Minor: minor % 10},
			Layout:  containerd.Layout(layout % 3),
		}
		if len(imported) > 0 {
			in.Imported = []containerd.File{{Path: "/etc/containerd/conf.d/10-other.toml", Text: imported}}
		}
		if bytes.Contains(main, []byte(engine.Marker)) {
			return // ours already
		}
		if _, err := containerd.Configure(in, s); err != nil {
			return
		}
		checkLaws(t, in, s)
	})
}
