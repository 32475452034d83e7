// SPDX-License-Identifier: Apache-2.0

package cdi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rspec "github.com/opencontainers/runtime-spec/specs-go"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"
	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func host(t testing.TB, dir string) *hostfs.Root {
	t.Helper()
	r := simtest.Root(t, dir)
	return r
}

// write writes files, by path below dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		testfile.Write(t, path, text, 0o644)
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
			names: []string{"v.org/c=a"}, says: []string{`"v.org/c=a" (`, "/1/a.json and ", "/1/b.json and ", "/2/c.json define it)"},
		},
		"no directories": {names: []string{"v.org/c=a"}, says: []string{"no CDI device"}},
		"a directory that is none": {
			files: map[string]string{"1": "", "2/a.json": spec("A", "a")}, names: []string{"v.org/c=a"}, want: []string{"A=1", "A_a=1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, tc.files)
			e, err := cdi.Resolve(host(t, "/"), []string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}, tc.names)
			var missing *cdi.UnresolvedError
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

// A spec is JSON or YAML, whatever the file is called, of any vendor, and however it writes
// the kind down.
func TestResolveNotations(t *testing.T) {
	const lines = `# A comment.
cdiVersion: 0.6.0
kind: nvidia.com/gpu
containerEdits: {env: [ALL=1]}
devices:
  - {name: "0", containerEdits: &one {env: [ONE=1]}}
  - {name: "1", containerEdits: *one}
`
	utf16 := []byte("\xff\xfe")
	for _, c := range lines {
		utf16 = append(utf16, byte(c), 0)
	}
	json := strings.Replace(spec("A", "1"), "v.org/c", "nvidia.com/gpu", 1)
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"YAML":                   {lines, []string{"ALL=1", "ONE=1"}},
		"JSON":                   {json, []string{"A=1", "A_1=1"}},
		"a second document":      {lines + "---\n[]\n", []string{"ALL=1", "ONE=1"}},
		"UTF-16":                 {string(utf16), []string{"ALL=1", "ONE=1"}},
		"an escape in JSON":      {strings.Replace(json, "/gpu", `/\u0067pu`, 1), []string{"A=1", "A_1=1"}},
		"a line that goes on":    {strings.Replace(lines, "nvidia.com/gpu", "\"nvidia.com/\\\n  gpu\"", 1), []string{"ALL=1", "ONE=1"}},
		"base64":                 {strings.Replace(lines, "nvidia.com/gpu", "!!binary bnZpZGlhLmNvbS9ncHU=", 1), []string{"ALL=1", "ONE=1"}},
		"an alias":               {strings.NewReplacer("kind: nvidia.com/gpu", "annotations: {a: &kind nvidia.com/gpu}\nkind: *kind").Replace(lines), []string{"ALL=1", "ONE=1"}},
		"a block that is folded": {strings.Replace(lines, "nvidia.com/gpu", ">-\n  nvidia.com/gpu", 1), []string{"ALL=1", "ONE=1"}},
	} {
		for _, file := range []string{"nvidia.yaml", "nvidia.json"} {
			t.Run(name+" in "+file, func(t *testing.T) {
				dir := t.TempDir()
				write(t, dir, map[string]string{file: tc.text, "metax.json": spec("B", "0")})
				e, err := cdi.Resolve(host(t, "/"), []string{dir}, []string{"v.org/c=0", "nvidia.com/gpu=1"})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(append([]string{"B=1", "B_0=1"}, tc.want...), e.Env); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// What stands in a spec directory and is not a spec neither stops nor delays a start,
// and is named where a name is not found.
func TestResolveFaults(t *testing.T) {
	file := func(text string) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }
	}
	const top = "cdiVersion: 0.6.0\nkind: v.org/c\n"
	aliases := top + "annotations:\n  a: &a {a: x}\n"
	for c := 'b'; c <= 'z'; c++ {
		aliases += fmt.Sprintf("  %c: &%c {<<: [%s]}\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 10))
	}
	aliases += "devices: [{name: a, annotations: *z}]\n"
	for name, tc := range map[string]struct {
		make func(path string) error
		says string // of the file; empty: it is not looked at
	}{
		"a FIFO":                  {func(path string) error { return unix.Mkfifo(path, 0o644) }, "not a regular file"},
		"a socket":                {func(path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o644, 0) }, "no such device"},
		"a device":                {func(path string) error { return os.Symlink("/dev/zero", path) }, "not a regular file"},
		"a link to nothing":       {func(path string) error { return os.Symlink("nowhere", path) }, "no such file or directory"},
		"a link to itself":        {func(path string) error { return os.Symlink("x.json", path) }, "too many levels of symbolic links"},
		"a terabyte":              {func(path string) error { return errors.Join(file("")(path), os.Truncate(path, 1<<40)) }, "over 1048576 bytes"},
		"too large by a byte":     {file(spec("X", "a") + strings.Repeat(" ", cdi.MaxSpec)), "over 1048576 bytes"},
		"a directory":             {func(path string) error { return os.Mkdir(path, 0o755) }, ""},
		"another's spec":          {file("kind: w.org/d\nnews: of a later version\n"), ""},
		"no YAML":                 {file("v.org/c: {"), "invalid CDI spec: yaml: line 1: did not find expected node content"},
		"null":                    {file("null # v.org/c"), "invalid CDI spec: empty"},
		"cut off":                 {file(spec("X", "a")[:60]), "invalid CDI spec: yaml"},
		"a field to come":         {file(top + "devices: [{name: a, containerEdits: {env: [A=1]}}]\nnews: 1\n"), "field news not found"},
		"a version to come":       {file(strings.Replace(spec("X", "a"), "0.6.0", "9.0.0", 1)), "invalid version"},
		"a permission to come":    {file(top + "devices: [{name: a, containerEdits: {deviceNodes: [{path: /dev/x, permissions: x}]}}]\n"), `invalid permissions "x"`},
		"an empty entry":          {file(top + "devices: [{name: a, containerEdits: {mounts: [null]}}]\n"), "engines panic on it"},
		"aliases of aliases":      {file(aliases), "excessive aliasing"},
		"an alias of its parent":  {file(top + "annotations: &a {<<: *a}\n"), "contains itself"},
		"a megabyte of aliases":   {file(top + "containerEdits:\n  hooks:\n  - &a {args: [" + strings.Repeat("x,", 100_000) + "]}\n" + strings.Repeat("  - *a\n", 100_000)), "excessive aliasing"},
		"a megabyte of brackets":  {file(top + "annotations: " + strings.Repeat("[", 1_000_000)), "exceeded max depth"},
		"a megabyte of lists":     {file(top + strings.Repeat("- ", 500_000)), "invalid CDI spec"},
		"a slash escaped in JSON": {file(`{"kind":"v.org\/c"}`), "unknown escape character"},
		"control characters":      {file("v.org/c\x00\x1b[2J"), "invalid CDI spec: yaml: control characters are not allowed"},
		"a key with line breaks":  {file(top + `"a\nb\u202e": 1`), "field a\uFFFDb\uFFFD not found"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"1/a.json": spec("A", "a")})
			path := filepath.Join(dir, "2", "x.json")
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), tc.make(path)); err != nil {
				t.Fatal(err)
			}
			dirs := []string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}
			e, err := cdi.Resolve(host(t, "/"), dirs, []string{"v.org/c=a"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"A=1", "A_a=1"}, e.Env); diff != "" {
				t.Error(diff)
			}
			var missing *cdi.UnresolvedError
			if _, err := cdi.Resolve(host(t, "/"), dirs, []string{"v.org/c=z"}); !errors.As(err, &missing) {
				t.Fatal(err)
			}
			want := `no CDI device "v.org/c=z" in ` + strings.Join(dirs, ", ") + " (metax-ctk cdi list shows what there is)"
			if tc.says != "" {
				want += "; " + path + " cannot be read: "
			}
			said := missing.Error()
			if !strings.HasPrefix(said, want) || !strings.Contains(said, tc.says) || tc.says == "" && said != want || said != terminal.Line(said) {
				t.Errorf("%.300q; want %q and %q", said, want, tc.says)
			}
		})
	}
}

// TestResolveLibrary compares with the library for directories that chance filled from a small
// pool.
func TestResolveLibrary(t *testing.T) {
	base := t.TempDir()
	root := host(t, "/")
	found, lost := 0, 0
	for i := range 1000 {
		m := rand.New(rand.NewPCG(4, uint64(i)))
		dir := filepath.Join(base, fmt.Sprint(i))
		var dirs []string
		for d := range 1 + m.IntN(3) {
			dirs = append(dirs, filepath.Join(dir, fmt.Sprint(d)))
			for f := range m.IntN(4) {
				name, text := file(m, fmt.Sprintf("F%d%d", d, f))
				write(t, dirs[d], map[string]string{fmt.Sprint(f) + name: text})
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
		e, err := cdi.Resolve(root, dirs, names)
		if (err == nil) != (missing == nil) {
			t.Fatalf("%d %q: %v; library: %v", i, names, err, libErr)
		}
		if err != nil {
			lost++
			var unresolved *cdi.UnresolvedError
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
	if found < 200 || lost < 200 {
		t.Errorf("%d found, %d not: too few of one", found, lost)
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
	switch m.IntN(3) {
	case 0:
		data, err = yaml.Marshal(s)
	case 1:
		data, err = json.MarshalIndent(s, "", "\t")
	default:
		data, err = json.Marshal(s)
	}
	if err != nil {
		panic(err)
	}
	switch m.IntN(24) {
	case 0:
		data = data[:m.IntN(len(data))]
	case 1:
		data = bytes.ReplaceAll(data, []byte("/"), []byte(`\u002f`)) // a slash in quotes alone
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
	root := host(b, "/")
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := cdi.Resolve(root, []string{"/etc/cdi", dir}, []string{"metax-tech.com/gpu=all"}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSources: the specs that devices come from, each once; one of a lower priority is hidden.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"etc/a.json": spec("A", "a", "b"), "etc/c.json": spec("C", "c"), "run/b.json": spec("B", "b")})
	got := cdi.Sources(host(t, dir), []string{"/etc", "/run"}, []string{"v.org/c=b", "v.org/c=a", "v.org/c=b", "v.org/c=none"})
	if diff := cmp.Diff([]string{"/run/b.json", "/etc/a.json"}, got); diff != "" {
		t.Error(diff)
	}
}
