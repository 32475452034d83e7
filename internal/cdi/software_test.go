// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/golden"
)

// installed is an installation that needs all that a spec can take up.
func installed() edits.Software {
	return edits.Software{
		Path: "/opt/maca", Dir: "/opt/maca-3.3.0.15", Version: "3.3.0.15", Default: true, Driver: "/opt/mxdriver",
		Libraries: []string{"/opt/mxdriver/lib", "/opt/maca/lib", "/opt/maca/ucx/lib"},
		Links:     []edits.LibraryLink{{Name: "libucp.so", Target: "/opt/maca/ucx/lib/libucp.so.0"}},
		Programs:  []string{"/opt/maca/bin/macainfo", "/opt/maca/bin/mxcc"},
		Env:       []string{"MACA_PATH=/opt/maca"},
	}
}

// other is a further one on the same host, of another version.
func other(version string) edits.Software {
	s := installed()
	s.Dir, s.Version, s.Default = "/opt/maca-"+version, version, false
	return s
}

func names(spec *specs.Spec) []string {
	var list []string
	for _, d := range spec.Devices {
		list = append(list, d.Name)
	}
	return list
}

// actions is the hook's command line for an installation.
func actions(t *testing.T, s edits.Software) []string {
	t.Helper()
	e, err := edits.MACA(s, SoftwareDevice)
	if err != nil {
		t.Fatal(err)
	}
	return hookArgs(e)
}

const hook = "/usr/bin/metax-hook"

func TestGenerateSoftware(t *testing.T) {
	plain := other("2.32.0.6")
	plain.Libraries, plain.Links, plain.Programs = plain.Libraries[:1], nil, nil
	spec, err := GenerateSoftware([]edits.Software{installed(), plain}, Options{Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	for name, format := range map[string]Format{"maca.json": JSON, "maca.yaml": YAML} {
		text, err := Encode(spec, format)
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/"+name, text)
	}
}

func TestGenerateSoftwareBelowRoot(t *testing.T) {
	spec, err := GenerateSoftware([]edits.Software{installed()}, Options{Hook: hook, EngineRoot: "/node", Vendor: "v.org", Class: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if spec.Kind != "v.org/c" || len(spec.Devices) != 4 {
		t.Errorf("kind %s, %d devices", spec.Kind, len(spec.Devices))
	}
	for _, d := range spec.Devices {
		var mounts []string
		for _, m := range d.ContainerEdits.Mounts {
			mounts = append(mounts, m.HostPath+" "+m.ContainerPath)
		}
		want := []string{"/node/opt/maca-3.3.0.15 /opt/maca-3.3.0.15", "/node/opt/mxdriver /opt/mxdriver"}
		if diff := cmp.Diff(want, mounts); diff != "" || d.ContainerEdits.Hooks[0].Path != hook {
			t.Errorf("%s: hook %s, mounts %s", d.Name, d.ContainerEdits.Hooks[0].Path, diff)
		}
	}
}

// The hook has only as much to do as the installation demands.
func TestSoftwareActions(t *testing.T) {
	plain := edits.Software{Path: "/opt/maca", Dir: "/opt/maca", Default: true}
	for name, tc := range map[string]struct {
		edit func(*edits.Software)
		want []string
	}{
		"nothing": {func(*edits.Software) {}, nil},
		"libraries": {
			func(s *edits.Software) { s.Libraries = []string{"/opt/maca/lib"} },
			[]string{"update-ldcache", "--folder", "/opt/maca/lib"},
		},
		"a link": {
			func(s *edits.Software) { s.Dir = "/opt/maca-3" },
			[]string{"create-symlinks", "--link", "/opt/maca-3::/opt/maca"},
		},
		"names of libraries": {
			func(s *edits.Software) {
				s.Links = []edits.LibraryLink{{Name: "libx.so.1", Target: "/opt/maca/lib/libx.so.1.2"}}
			},
			[]string{"create-symlinks", "--link", "/opt/maca/lib/libx.so.1.2::" + edits.LinkDir + "/libx.so.1", "update-ldcache", "--folder", edits.LinkDir},
		},
		"the driver": {
			func(s *edits.Software) { s.Driver = "/opt/mxdriver" },
			[]string{"create-symlinks", "--new-link", "/opt/mxdriver/bin/mx-smi::/usr/bin/mx-smi"},
		},
		"programs": {
			func(s *edits.Software) {
				s.Dir, s.Programs = "/opt/maca-3", []string{"/opt/maca/bin/macainfo", "/opt/maca/bin/mxcc", "/opt/maca/ompi/bin/mxcc"}
			},
			[]string{
				"create-symlinks", "--link", "/opt/maca-3::/opt/maca", "--new-link", "/opt/maca/bin/macainfo::/usr/bin/macainfo",
				"--new-link", "/opt/maca/bin/mxcc::/usr/bin/mxcc",
			},
		},
		"the driver's mx-smi": {
			func(s *edits.Software) {
				s.Driver, s.Programs = "/opt/mxdriver", []string{"/opt/maca/bin/mx-smi", "/opt/maca/bin/mxcc"}
			},
			[]string{
				"create-symlinks", "--new-link", "/opt/mxdriver/bin/mx-smi::/usr/bin/mx-smi", "--new-link", "/opt/maca/bin/mxcc::/usr/bin/mxcc",
			},
		},
		"an mx-smi without a driver": {
			func(s *edits.Software) { s.Programs = []string{"/opt/maca/bin/mx-smi"} },
			[]string{"create-symlinks", "--new-link", "/opt/maca/bin/mx-smi::/usr/bin/mx-smi"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := plain
			tc.edit(&s)
			if diff := cmp.Diff(tc.want, actions(t, s)); diff != "" {
				t.Error(diff)
			}
			// No hook at all where there is nothing to do, so that none is needed.
			spec, err := GenerateSoftware([]edits.Software{s}, Options{})
			if tc.want == nil {
				if err != nil || len(spec.Devices[0].ContainerEdits.Hooks) != 0 {
					t.Errorf("%v, %v", spec, err)
				}
			} else if !errors.Is(err, ErrNoHook) {
				t.Errorf("error is %v, want ErrNoHook", err)
			}
		})
	}
}

// A version is a device if it can be one, and never a second "host".
func TestSoftwareVersions(t *testing.T) {
	for version, want := range map[string]int{"": 2, "3.3.0.15": 4, "3.8.0.3-c600u": 4, "host": 2, "3/4": 2, "-3": 2, "3+4": 2} {
		s := installed()
		s.Version = version
		spec, err := GenerateSoftware([]edits.Software{s}, Options{Hook: hook})
		if err != nil || len(spec.Devices) != want {
			t.Errorf("version %q: %v, %v; want %d devices", version, spec, err, want)
		} else if !slices.Contains(names(spec), FallbackDevice(version)) {
			t.Errorf("version %q: no device %s", version, FallbackDevice(version))
		}
	}
}

func TestGenerateSoftwareRefuses(t *testing.T) {
	for name, edit := range map[string]func(*edits.Software){
		"relative directory":  func(s *edits.Software) { s.Dir = "opt" },
		"detour":              func(s *edits.Software) { s.Dir = "/opt/../opt" },
		"control characters":  func(s *edits.Software) { s.Links[0].Name = "a\nb" },
		"a library elsewhere": func(s *edits.Software) { s.Links[0].Name = "../../etc/x" },
		"a program elsewhere": func(s *edits.Software) { s.Programs = []string{"/opt/maca/../../etc/x"} },
		"a directory":         func(s *edits.Software) { s.Programs = []string{"/opt/maca/bin/.."} },
		"no name":             func(s *edits.Software) { s.Programs = []string{"/opt/maca"} },
		"two links in one":    func(s *edits.Software) { s.Programs = []string{"a::b"} },
		"no installation":     func(s *edits.Software) { s.Default, s.Version = false, "" },
	} {
		s := installed()
		edit(&s)
		if _, err := GenerateSoftware([]edits.Software{s}, Options{Hook: hook}); !errors.Is(err, ErrSpec) {
			t.Errorf("%s: error is %v, want ErrSpec", name, err)
		}
	}
}

// Two that each want to be the default are a mistake of the caller.
func TestTwoDefaults(t *testing.T) {
	second := installed()
	second.Version = "2"
	if _, err := GenerateSoftware([]edits.Software{installed(), second}, Options{Hook: hook}); !errors.Is(err, ErrSpec) {
		t.Errorf("error is %v, want ErrSpec", err)
	}
}

// Each installation is a device by its version, if that is a name that nobody else
// has; the default is one in any case.
func TestSeveralVersions(t *testing.T) {
	unnamed := installed()
	unnamed.Version = ""
	for name, tc := range map[string]struct {
		list     []edits.Software
		want     []string
		nameless int
	}{
		"two":                  {[]edits.Software{installed(), other("2.32.0.6")}, []string{"host", "3.3.0.15", "2.32.0.6"}, 0},
		"the default is last":  {[]edits.Software{other("2"), installed()}, []string{"2", "host", "3.3.0.15"}, 0},
		"no default":           {[]edits.Software{other("2"), other("1")}, []string{"2", "1"}, 0},
		"unknown":              {[]edits.Software{installed(), other("")}, []string{"host", "3.3.0.15"}, 1},
		"the default unknown":  {[]edits.Software{unnamed, other("2")}, []string{"host", "2"}, 0},
		"twice":                {[]edits.Software{other("2"), installed(), other("2")}, []string{"2", "host", "3.3.0.15"}, 1},
		"the default's":        {[]edits.Software{other("3.3.0.15"), installed()}, []string{"host", "3.3.0.15"}, 1},
		"the default's device": {[]edits.Software{installed(), other("host")}, []string{"host", "3.3.0.15"}, 1},
		"no name of a device":  {[]edits.Software{installed(), other("3+4")}, []string{"host", "3.3.0.15"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := GenerateSoftware(tc.list, Options{Hook: hook})
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(tc.want)
			for _, name := range tc.want {
				want = append(want, "fallback-"+name)
			}
			if diff := cmp.Diff(want, names(spec)); diff != "" {
				t.Errorf("devices: %s", diff)
			}
			if got := Nameless(tc.list); len(got) != tc.nameless {
				t.Errorf("nameless are %v, want %d", got, tc.nameless)
			}
			for _, d := range spec.Devices {
				e := d.ContainerEdits
				if dir := e.Mounts[0].ContainerPath; !slices.Contains(e.Hooks[0].Args, dir+"::/opt/maca") {
					t.Errorf("%s: mount of %s, hook %q", d.Name, dir, e.Hooks[0].Args)
				}
			}
		})
	}
}

// However many programs there are and however long their names, a process can have the command
// line.
func TestManyPrograms(t *testing.T) {
	s := installed()
	for i := range 5000 {
		s.Programs = append(s.Programs, fmt.Sprintf("/opt/maca/bin/%0255d", i))
	}
	s.Programs = append(s.Programs, "/opt/maca/bin/zzz")
	args := actions(t, s)
	bytes, offers := 0, 0
	for _, a := range args {
		bytes += len(a) + 1
		if a == "--new-link" {
			offers++
		}
		if strings.HasSuffix(a, "/zzz") {
			t.Error("the last one has a name")
		}
	}
	if offers != edits.MaxPrograms+1 || bytes > 256<<10 {
		t.Errorf("%d programs, %d bytes", offers, bytes)
	}
}

// A GPU and MXMACA bring the driver's user part both, and a container has one mount of it.
func TestInjectBothKinds(t *testing.T) {
	n := gpu.NewNode("")
	n.Driver = &gpu.Driver{Path: "/opt/mxdriver"}
	n.GPUs = []gpu.GPU{{BDF: gpu.BDF{Bus: 1}, Nodes: []string{"/dev/null"}}}
	dir := written(t, n, Options{}, JSON)
	spec, err := GenerateSoftware([]edits.Software{installed()}, Options{Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(filepath.Join(dir, "maca.json"), spec, JSON); err != nil {
		t.Fatal(err)
	}
	for _, devices := range [][]string{{"gpu=0", "maca=host"}, {"maca=host", "gpu=0"}, {"maca=3.3.0.15", "gpu=0", "maca=host"}} {
		var got oci.Spec
		for i := range devices {
			devices[i] = "metax-tech.com/" + devices[i]
		}
		inject(t, dir, &got, devices...)
		mounts := map[string]int{}
		for _, m := range got.Mounts {
			mounts[m.Destination+" of "+m.Source+" "+strings.Join(m.Options, ",")]++
		}
		const how = " bind,ro,nosuid,nodev,rprivate"
		want := map[string]int{"/opt/mxdriver of /opt/mxdriver" + how: 1, "/opt/maca-3.3.0.15 of /opt/maca-3.3.0.15" + how: 1}
		if diff := cmp.Diff(want, mounts); diff != "" {
			t.Errorf("%q: %s", devices, diff)
		}
	}
}
