package containerd

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// TestRemoveInPlaceTables: Remove leaves no empty table that was not there before, also
// in a file that somebody edited.
func TestRemoveInPlaceTables(t *testing.T) {
	const original = "version = 2\n"
	in := Input{Layout: InPlace, Main: []byte(original), Version: engine.Version{Major: 1, Minor: 6}}
	s := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime", Default: true}
	for _, s.Name = range []string{"metax", "other"} {
		changes, err := Configure(in, s)
		if err != nil || len(changes) != 1 {
			t.Fatalf("%v, %v", changes, err)
		}
		in.Main = changes[0].After
	}
	in.Original, in.HasOriginal = []byte(original), true
	for _, s.Name = range []string{"metax", "other"} {
		changes, err := Remove(in, s)
		if err != nil || len(changes) != 1 {
			t.Fatalf("%v, %v", changes, err)
		}
		in.Main = changes[0].After
	}
	if d := cmp.Diff(original, string(in.Main)); d != "" {
		t.Error(d)
	}
}

// TestRemoveInPlaceAnother: the settings of CDI stay until our last runtime is removed.
func TestRemoveInPlaceAnother(t *testing.T) {
	const original = "version = 2\n[plugins.'io.containerd.grpc.v1.cri']\nenable_cdi = false\n"
	in := Input{Layout: InPlace, Main: []byte(original), Version: engine.Version{Major: 1, Minor: 7}}
	s := engine.Setup{Runtime: "/usr/bin/metax-runtime", CDI: true, SpecDirs: []string{"/etc/cdi", "/run/cdi"}}
	for _, s.Name = range []string{"metax", "other"} {
		changes, err := Configure(in, s)
		if err != nil || len(changes) != 1 {
			t.Fatalf("%v, %v", changes, err)
		}
		in.Main = changes[0].After
	}
	in.Original, in.HasOriginal = []byte(original), true
	want := []engine.State{
		{Runtimes: map[string]string{"runc": "", "other": s.Runtime}, CDI: engine.On, SpecDirs: s.SpecDirs},
		{Runtimes: map[string]string{}, CDI: engine.Off},
	}
	for i, name := range []string{"metax", "other"} {
		s.Name = name
		changes, err := Remove(in, s)
		if err != nil || len(changes) != 1 {
			t.Fatalf("%v, %v", changes, err)
		}
		in.Main = changes[0].After
		got, err := Read(in)
		if d := cmp.Diff(want[i], got); d != "" || err != nil {
			t.Errorf("without %s: %v, %s", name, err, d)
		}
	}
}

// TestInPlaceForeign: a runtime of the name that is another program is neither changed nor
// removed; ours is, wherever it is installed.
func TestInPlaceForeign(t *testing.T) {
	const table = "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.metax]\nruntime_type = 'io.containerd.%s.v2'\n"
	const options = "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.metax.options]\nBinaryName = '%s'\n"
	s := engine.Setup{Name: "metax", Runtime: "/usr/bin/metax-runtime"}
	for name, tc := range map[string]struct {
		text string
		ours bool
	}{
		"another type":      {fmt.Sprintf(table, "kata"), false},
		"another program":   {fmt.Sprintf(table, "runc") + fmt.Sprintf(options, "/opt/vendor/metax-container-runtime"), false},
		"an older place":    {fmt.Sprintf(table, "runc") + fmt.Sprintf(options, "/usr/local/bin/metax-runtime"), true},
		"the program as is": {fmt.Sprintf(table, "runc") + fmt.Sprintf(options, "/usr/bin/metax-runtime"), true},
	} {
		in := Input{Layout: InPlace, Main: []byte(tc.text), Version: engine.Version{Major: 1, Minor: 7}, Path: "/etc/config.toml"}
		_, err := Configure(in, s)
		if ours := err == nil; ours != tc.ours {
			t.Errorf("%s: Configure: %v", name, err)
		}
		if err != nil && err.Error() != `edit /etc/config.toml: runtime "metax" is not metax-runtime and is left as it is; use another name: --name` {
			t.Errorf("%s: Configure: %v", name, err)
		}
		in.Original, in.HasOriginal = []byte("version = 2\n"), true
		changes, err := Remove(in, s)
		if removed := len(changes) > 0; removed != tc.ours || err != nil {
			t.Errorf("%s: Remove: %v, %v", name, changes, err)
		}
	}
}
