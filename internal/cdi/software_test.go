package cdi

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installed is an installation that needs all that a spec can take up.
func installed() Software {
	return Software{
		Path: "/opt/maca", Dir: "/opt/maca-3.3.0.15", Version: "3.3.0.15",
		Libraries: []string{"/opt/maca/lib", "/opt/maca/ucx/lib"},
		Links:     []Link{{Name: "libucp.so", Target: "/opt/maca/ucx/lib/libucp.so.0"}},
	}
}

const hook = "/usr/bin/metax-hook"

func TestGenerateSoftware(t *testing.T) {
	spec, err := GenerateSoftware(installed(), hook, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, format := range map[string]Format{"maca.json": JSON, "maca.yaml": YAML} {
		text, err := Encode(spec, format)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, text)
	}
}

func TestGenerateSoftwareBelowRoot(t *testing.T) {
	spec, err := GenerateSoftware(installed(), hook, Options{EngineRoot: "/node", Vendor: "v.org", Class: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if spec.Kind != "v.org/c" || len(spec.Devices) != 2 {
		t.Errorf("kind %s, %d devices", spec.Kind, len(spec.Devices))
	}
	for _, d := range spec.Devices {
		m, h := d.ContainerEdits.Mounts[0], d.ContainerEdits.Hooks[0]
		if m.HostPath != "/node/opt/maca-3.3.0.15" || m.ContainerPath != "/opt/maca-3.3.0.15" || h.Path != hook {
			t.Errorf("%s: mount of %s to %s, hook %s", d.Name, m.HostPath, m.ContainerPath, h.Path)
		}
	}
}

// The hook has only as much to do as the installation demands.
func TestSoftwareActions(t *testing.T) {
	plain := Software{Path: "/opt/maca", Dir: "/opt/maca"}
	for name, tc := range map[string]struct {
		edit func(*Software)
		want []string
	}{
		"nothing": {func(*Software) {}, nil},
		"libraries": {
			func(s *Software) { s.Libraries = []string{"/opt/maca/lib"} },
			[]string{"update-ldcache", "--folder", "/opt/maca/lib"},
		},
		"a link": {
			func(s *Software) { s.Dir = "/opt/maca-3" },
			[]string{"create-symlinks", "--link", "/opt/maca-3::/opt/maca"},
		},
		"names of libraries": {
			func(s *Software) { s.Links = []Link{{"libx.so.1", "/opt/maca/lib/libx.so.1.2"}} },
			[]string{"create-symlinks", "--link", "/opt/maca/lib/libx.so.1.2::" + LinkDir + "/libx.so.1", "update-ldcache", "--folder", LinkDir},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := plain
			tc.edit(&s)
			if diff := cmp.Diff(tc.want, s.actions()); diff != "" {
				t.Error(diff)
			}
			// No hook at all where there is nothing to do, so that none is needed.
			spec, err := GenerateSoftware(s, "", Options{})
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
	for version, want := range map[string]int{"": 1, "3.3.0.15": 2, "3.8.0.3-c600u": 2, "host": 1, "3/4": 1, "-3": 1, "3+4": 1} {
		s := installed()
		s.Version = version
		spec, err := GenerateSoftware(s, hook, Options{})
		if err != nil || len(spec.Devices) != want {
			t.Errorf("version %q: %v, %v; want %d devices", version, spec, err, want)
		}
	}
}

func TestGenerateSoftwareRefuses(t *testing.T) {
	for name, edit := range map[string]func(*Software){
		"relative directory": func(s *Software) { s.Dir = "opt" },
		"detour":             func(s *Software) { s.Dir = "/opt/../opt" },
		"control characters": func(s *Software) { s.Links[0].Name = "a\nb" },
	} {
		s := installed()
		edit(&s)
		if _, err := GenerateSoftware(s, hook, Options{}); !errors.Is(err, ErrSpec) {
			t.Errorf("%s: error is %v, want ErrSpec", name, err)
		}
	}
}
