// SPDX-License-Identifier: Apache-2.0

package scrub_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/internal/engine/crio"
	"github.com/metax-ctk/container-toolkit/internal/engine/docker"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/podman"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// answer is what the checks read in a configuration.
type answer struct {
	State                   engine.State
	Broken, Disabled, Stale bool
}

// The checks read the same in every configuration of the engines' test data as in what
// is kept of it, and a broken configuration stays broken.
func TestEnginesReadWhatIsKept(t *testing.T) {
	versions := []string{"", "1.6.0", "1.7.0", "2.1.0", "2.3.0", "5.6.0", "28.3.0"}
	for name, read := range map[string]func(keep func(string, []byte) []byte, files map[string][]byte, v engine.Version) answer{
		"docker": func(keep func(string, []byte) []byte, files map[string][]byte, v engine.Version) answer {
			s, err := docker.Read(docker.Input{Path: docker.Path, Text: keep(docker.Path, files["daemon.json"]), Version: v})
			return answer{State: s, Broken: err != nil}
		},
		"containerd": func(keep func(string, []byte) []byte, files map[string][]byte, v engine.Version) answer {
			in := containerd.Input{Main: keep(containerd.DefaultPath, files["main"]), Version: v}
			if after := files["after "+containerd.DefaultPath]; after != nil {
				in.Main = keep(containerd.DefaultPath, after)
			}
			in.DropIn = keep(containerd.DefaultDropIn, files["after "+containerd.DefaultDropIn])
			for _, path := range slices.Sorted(maps.Keys(files)) {
				if strings.HasPrefix(path, "/") {
					in.Imported = append(in.Imported, containerd.File{Path: path, Text: keep(containerd.DefaultPath, files[path])})
				}
			}
			s, err := containerd.Read(in)
			disabled, _ := containerd.Disabled(in) // fails as Read does
			return answer{s, err != nil, disabled, containerd.Stale(in)}
		},
		"crio": func(keep func(string, []byte) []byte, files map[string][]byte, v engine.Version) answer {
			in := crio.Input{Main: dropin.File{Path: crio.Main, Text: keep(crio.Main, files["crio.conf"])}, Version: v}
			for _, name := range []string{"crio.conf.d/10-crio.conf", "crio.conf.d/99-nvidia.conf", "crio.conf.d/99-metax.conf"} {
				in.DropIns = append(in.DropIns, dropin.File{Path: "/etc/crio/" + name, Text: keep("/etc/crio/"+name, files[name])})
			}
			s, err := crio.Read(in)
			return answer{State: s, Broken: err != nil}
		},
		"podman": func(keep func(string, []byte) []byte, files map[string][]byte, v engine.Version) answer {
			in := podman.Input{Vendor: dropin.File{Path: podman.Vendor, Text: keep(podman.Vendor, files["vendor.conf"])}, Main: dropin.File{Path: podman.Main, Text: keep(podman.Main, files["containers.conf"])}, Version: v}
			for _, name := range []string{"containers.conf.d/50-more.conf", "containers.conf.d/99-metax.conf", "containers.conf.d/99-zone.conf"} {
				in.DropIns = append(in.DropIns, dropin.File{Path: "/etc/containers/" + name, Text: keep("/etc/containers/"+name, files[name])})
			}
			s, err := podman.Read(in)
			return answer{State: s, Broken: err != nil}
		},
	} {
		scenes, err := filepath.Glob(filepath.Join("..", "..", "engine", name, "testdata", "*.txtar"))
		if err != nil || len(scenes) == 0 {
			t.Fatalf("no scenes of %s: %v", name, err)
		}
		for _, scene := range scenes {
			if filepath.Base(scene) == "duplicate-runtime.txtar" {
				continue // a key twice, once with an escape, which a text without words does not show
			}
			archive, err := txtar.ParseFile(scene)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string][]byte{}
			for _, f := range archive.Files {
				files[f.Name] = f.Data
			}
			for _, version := range versions {
				v, s := engine.ParseVersion(version), scrub.New()
				want := read(func(_ string, text []byte) []byte { return text }, files, v)
				got := read(func(name string, text []byte) []byte {
					if text == nil {
						return nil
					}
					return []byte(s.Keep(name, string(text)))
				}, files, v)
				// A drop-in may be out of date because of a setting that is not kept.
				got.Stale = got.Stale || want.Stale
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, version %q (-whole +kept):\n%s", scene, version, diff)
				}
			}
		}
	}
}
