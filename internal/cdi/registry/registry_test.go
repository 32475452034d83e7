package registry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rspec "github.com/opencontainers/runtime-spec/specs-go"
	"go.yaml.in/yaml/v3"
	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi/registry"
	"github.com/metax-ctk/container-toolkit/internal/cdi/specfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

func host(t testing.TB, dir string) *hostfs.Root {
	t.Helper()
	r, err := hostfs.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// write writes files, by path below dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// spec is one of kind v.org/c with a variable of its own for each device.
func spec(mark string, devices ...string) string {
	var all []string
	for _, d := range devices {
		all = append(all, fmt.Sprintf(`{"name":%q,"containerEdits":{"env":["%s_%s=1"]}}`, d, mark, d))
	}
	return fmt.Sprintf(`{"cdiVersion":"0.6.0","kind":"v.org/c","devices":[%s],"containerEdits":{"env":["%s=1"]}}`, strings.Join(all, ","), mark)
}

func TestResolve(t *testing.T) {
	broken := spec("X", "a")[:60]
	for name, tc := range map[string]struct {
		files map[string]string
		names []string
		want  []string // the environment
		says  []string // of an error
	}{
		"order": {
			files: map[string]string{"1/a.json": spec("A", "a", "b"), "1/b.json": spec("B", "c")},
			names: []string{"v.org/c=b", "v.org/c=c", "v.org/c=a"}, want: []string{"A=1", "A_b=1", "B=1", "B_c=1", "A_a=1"},
		},
		"the later directory wins": {
			files: map[string]string{"1/a.json": spec("A", "a", "b"), "2/a.json": spec("B", "a")},
			names: []string{"v.org/c=a", "v.org/c=b"}, want: []string{"B=1", "B_a=1", "A=1", "A_b=1"},
		},
		"a broken file that is not needed": {
			files: map[string]string{"1/a.json": spec("A", "a"), "2/b.yaml": "\x00", "2/c.json/x": "", "2/d.txt": broken},
			names: []string{"v.org/c=a"}, want: []string{"A=1", "A_a=1"},
		},
		"nothing": {},
		"missing": {
			files: map[string]string{"1/a.json": spec("A", "a"), "1/b.json": "", "1/c.json/x": "", "2": ""},
			names: []string{"v.org/c=z", "v.org/c=a", "v.org/d=a", "no\nname"},
			says: []string{
				`no CDI device "v.org/c=z", "v.org/d=a", "no\nname" in `, "metax-ctk cdi list", "/2 cannot be read: ",
			},
		},
		"conflict": {
			files: map[string]string{"1/a.json": spec("A", "a"), "1/b.json": spec("B", "a"), "2/c.json": spec("C", "a")},
			names: []string{"v.org/c=a"}, says: []string{`"v.org/c=a" (both `, "/1/a.json and ", "/1/b.json define it)"},
		},
		"no directories": {names: []string{"v.org/c=a"}, says: []string{"no CDI device"}},
		"a directory that is none": {
			files: map[string]string{"1": "", "2/a.json": spec("A", "a")}, names: []string{"v.org/c=a"}, want: []string{"A=1", "A_a=1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, tc.files)
			r := registry.New(host(t, "/"), filepath.Join(dir, "1"), filepath.Join(dir, "2"))
			e, err := r.Resolve(tc.names)
			var missing *registry.UnresolvedError
			if errors.As(err, &missing) != (tc.says != nil) || (err == nil) == (tc.says != nil) {
				t.Fatal(err)
			}
			for _, s := range tc.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v; want %q in it", err, s)
				}
			}
			if err != nil {
				if strings.Contains(err.Error(), "c.json") && name != "conflict" || strings.ContainsAny(err.Error(), "\n\x00") {
					t.Error(err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, e.Env); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A spec that is not plain JSON is in the way if it could define what is asked
// for, and only then.
func TestResolveJSONOnly(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"etc/cdi/a.json": spec("A", "a"), "etc/cdi/d.json": `{"kind": "w.org/d"`, "etc/cdi/other.yaml": "cdiVersion: 0.6.0\nkind: other.org/x\n", "var/run/cdi/b.json": spec("B", "b"),
	})
	r := registry.New(host(t, dir))
	for name, file := range map[string]string{"v.org/c=a": "", "v.org/c=b": "", "other.org/x=a": "/etc/cdi/other.yaml", "w.org/d=a": "/etc/cdi/d.json"} {
		_, err := r.Resolve([]string{name})
		if errors.Is(err, registry.ErrNotJSON) != (file != "") || (err != nil) != (file != "") || err != nil && !strings.Contains(err.Error(), file+": not a valid spec in plain JSON") {
			t.Errorf("%s: %v, want one about %q", name, err, file)
		}
	}
	var missing *registry.UnresolvedError
	if _, err := r.Resolve([]string{"v.org/c=z"}); !errors.As(err, &missing) || len(missing.Faults) != 0 {
		t.Errorf("missing: %v", err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "etc/cdi/link.json")); err != nil {
		t.Fatal(err)
	}
	_, err := r.Resolve([]string{"v.org/c=z"})
	if !errors.As(err, &missing) || len(missing.Faults) != 1 || !errors.Is(missing.Faults[0].Err, fs.ErrNotExist) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}

// TestResolveLibrary compares with the library for directories that chance
// filled from a small pool.
func TestResolveLibrary(t *testing.T) {
	base := t.TempDir()
	root := host(t, "/")
	found, lost, refused := 0, 0, 0
	for i := range 3000 {
		m := rand.New(rand.NewPCG(4, uint64(i)))
		dir := filepath.Join(base, fmt.Sprint(i))
		var dirs []string
		odd := false // there is a file that is not plain JSON, or that engines reject
		for d := range 1 + m.IntN(3) {
			dirs = append(dirs, filepath.Join(dir, fmt.Sprint(d)))
			for f := range m.IntN(4) {
				name, text := file(m, fmt.Sprintf("F%d%d", d, f))
				write(t, dirs[d], map[string]string{fmt.Sprint(f) + name: text})
				_, plain := specfile.JSON([]byte(text))
				odd = odd || !plain && name != ".txt"
			}
		}
		var names []string
		for range 1 + m.IntN(2) {
			names = append(names, pick(m, "v.org/c", "v.org/c", "v.org/d", "w.org/c")+"="+pick(m, "a", "b", "c"))
		}
		var want, got rspec.Spec
		cache, err := libcdi.NewCache(libcdi.WithSpecDirs(dirs...), libcdi.WithAutoRefresh(false))
		if err != nil {
			t.Fatal(err)
		}
		missing, libErr := cache.InjectDevices(&want, names...)
		r := registry.New(root, dirs...)
		e, err := r.Resolve(names)
		if errors.Is(err, registry.ErrNotJSON) {
			if refused++; !odd {
				t.Fatalf("%d %q: %v", i, names, err)
			}
			continue
		}
		if (err == nil) != (missing == nil) {
			t.Fatalf("%d %q: %v; library: %v", i, names, err, libErr)
		}
		if err != nil {
			lost++
			var unresolved *registry.UnresolvedError
			if !errors.As(err, &unresolved) || !slices.Equal(unresolved.Names, missing) {
				t.Fatalf("%d %q: %v; library misses %q", i, names, err, missing)
			}
			continue
		}
		found++
		// A file that is cut off may be a spec still, and lack a device's host path.
		if err := (&libcdi.ContainerEdits{ContainerEdits: e}).Apply(&got); (err == nil) != (libErr == nil) {
			t.Fatalf("%d %q: %v; library: %v", i, names, err, libErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%d %q (-library +ours):\n%s", i, names, diff)
		}
	}
	if found < 200 || lost < 200 || refused < 200 {
		t.Errorf("%d found, %d not, %d refused: too few of one", found, lost, refused)
	}
}

func pick[T any](m *rand.Rand, from ...T) T { return from[m.IntN(len(from))] }

// file makes a spec file, sound or not, or another.
func file(m *rand.Rand, mark string) (name, text string) {
	s := specs.Spec{Version: pick(m, "0.7.0", "1.0.0", "1.1.0", "1.1.0", "1.1.0", "1.1.0", "1.1.0", "1.1.0", "1.1.0", "1.1.0", "1.1.0", "9.0.0"), Kind: pick(m, "v.org/c", "v.org/c", "v.org/d", "w.org/c")}
	for _, d := range []string{"a", "b", "c"} {
		if m.IntN(3) > 0 {
			s.Devices = append(s.Devices, specs.Device{Name: d, ContainerEdits: edits(m, mark+d)})
		}
	}
	if m.IntN(2) == 0 {
		s.ContainerEdits = edits(m, mark)
	}
	name = pick(m, ".json", ".json", ".yaml", ".txt")
	var data []byte
	var err error
	switch m.IntN(9) {
	case 0:
		data, err = yaml.Marshal(s)
	case 1, 2, 3:
		data, err = json.MarshalIndent(s, "", "\t")
	default:
		data, err = json.Marshal(s)
	}
	if err != nil {
		panic(err)
	}
	if m.IntN(24) == 0 {
		data = data[:m.IntN(len(data))]
	}
	return name, string(data)
}

func edits(m *rand.Rand, mark string) specs.ContainerEdits {
	e := specs.ContainerEdits{Env: []string{mark + "=<&>"}}
	if m.IntN(3) == 0 {
		e.DeviceNodes = []*specs.DeviceNode{{Path: "/dev/" + pick(m, "x", "y"), HostPath: "/dev/null", Permissions: pick(m, "", "rw", "none")}}
		e.Mounts = []*specs.Mount{{HostPath: "/" + mark, ContainerPath: pick(m, "/m", "/m/n"), Options: []string{"ro"}}}
		e.Hooks = []*specs.Hook{{HookName: "createContainer", Path: "/h", Args: []string{mark}}}
	}
	if m.IntN(4) == 0 {
		e.AdditionalGIDs = []uint32{44}
		e.IntelRdt = &specs.IntelRdt{ClosID: mark}
	}
	return e
}

// BenchmarkResolve resolves "all" of the spec of eight GPUs.
func BenchmarkResolve(b *testing.B) {
	dir := b.TempDir()
	var all specs.Device
	s := specs.Spec{Version: "0.7.0", Kind: "metax-tech.com/gpu"}
	for i := range 8 {
		e := specs.ContainerEdits{AdditionalGIDs: []uint32{44, 110}}
		for _, n := range []string{fmt.Sprintf("dri/card%d", i+1), fmt.Sprintf("dri/renderD%d", 128+i)} {
			e.DeviceNodes = append(e.DeviceNodes, &specs.DeviceNode{Path: "/dev/" + n, HostPath: "/dev/" + n, Permissions: "rw"})
		}
		for _, name := range []string{fmt.Sprint(i), fmt.Sprintf("GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1%d", i), fmt.Sprintf("0000:%02x:00.0", i)} {
			s.Devices = append(s.Devices, specs.Device{Name: name, ContainerEdits: e})
		}
		all.ContainerEdits.DeviceNodes = append(all.ContainerEdits.DeviceNodes, e.DeviceNodes...)
	}
	all.Name = "all"
	s.Devices = append(s.Devices, all)
	s.ContainerEdits.DeviceNodes = []*specs.DeviceNode{{Path: "/dev/mxcd", HostPath: "/dev/mxcd", Permissions: "rw"}}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	write(b, dir, map[string]string{"metax-tech.com-gpu.json": string(data)})
	if _, ok := specfile.JSON(data); !ok {
		b.Fatal("not plain JSON")
	}
	r := registry.New(host(b, "/"), "/etc/cdi", dir)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := r.Resolve([]string{"metax-tech.com/gpu=all"}); err != nil {
			b.Fatal(err)
		}
	}
}
