// SPDX-License-Identifier: Apache-2.0

// Package floors checks which package may import which.
package floors

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const module = "github.com/metax-ctk/container-toolkit/"

// The floors, by unit: a package of the module with the packages below it (discover →
// discover/sysfs). A package may import units on lower floors, its own unit, and the units
// that beside lists.
var floors = map[string]int{
	"internal/alloc": 0, "internal/compat": 0, "internal/completion": 0, "internal/compose": 0, "internal/config": 0, "internal/dockerargs": 0,
	"internal/edits": 0, "internal/gpu": 0, "internal/health": 0, "internal/jsontree": 0, "internal/lazyregexp": 0, "internal/ldconf": 0,
	"internal/request": 0, "internal/svg": 0, "internal/terminal": 0, "internal/toml": 0, "internal/topology": 0, "internal/topology/picture": 0, "internal/usage": 0,
	"internal/wording": 0,

	"internal/atomicfile": 1, "internal/child": 1, "internal/dockerd": 1, "internal/hook/inroot": 1, "internal/hostfs": 1, "internal/logfile": 1,

	"internal/backup": 2, "internal/cdi": 2, "internal/compose/projectfile": 2, "internal/discover": 2,
	"internal/engine": 2, "internal/holders": 2, "internal/hook": 2, "internal/image": 2, "internal/lease": 2, "internal/oci": 2, "internal/runc": 2,
	"internal/sim": 2, "internal/snapshot": 2,

	"internal/assign": 3, "internal/bundle": 3, "internal/capture": 3, "internal/doctor": 3, "internal/inject": 3, "internal/node": 3, "internal/ps": 3, "internal/refresh": 3, "internal/setup": 3, "internal/sgpu": 3, "internal/top": 3,

	"cmd": 4, "docs": 4, "packaging/licences": 4, "test/advisories": 4, "test/alloctest": 4, "test/demo": 4, "test/drm": 4, "test/enginetest": 4, "test/exploits": 4, "test/faults": 4, "test/golden": 4, "test/gputest": 4, "test/image": 4, "test/lines": 4, "test/machine": 4, "test/mountns": 4, "test/needs": 4, "test/oldkernel": 4, "test/placement": 4, "test/programs": 4, "test/report": 4, "test/rotation": 4, "test/sandbox": 4, "test/scripts": 4, "test/shells": 4, "test/simtest": 4, "test/skips": 4, "test/standin": 4, "test/testfile": 4, "test/trusted": 4, "test/vendorlib": 4,
}

// The units on its own floor that a unit may import, sorted.
var beside = map[string][]string{
	"internal/alloc":            {"internal/topology", "internal/wording"},
	"internal/assign":           {"internal/ps"},
	"internal/capture":          {"internal/doctor", "internal/node"},
	"internal/completion":       {"internal/gpu", "internal/terminal"},
	"internal/compose":          {"internal/edits", "internal/request"},
	"internal/config":           {"internal/alloc", "internal/compat", "internal/toml", "internal/usage", "internal/wording"},
	"internal/dockerargs":       {"internal/compat", "internal/edits", "internal/request", "internal/wording"},
	"internal/doctor":           {"internal/ps", "internal/setup"},
	"internal/edits":            {"internal/gpu", "internal/request"},
	"internal/gpu":              {"internal/wording"},
	"internal/health":           {"internal/gpu"},
	"internal/logfile":          {"internal/hostfs"},
	"internal/refresh":          {"internal/node"},
	"internal/request":          {"internal/gpu", "internal/wording"},
	"internal/svg":              {"internal/terminal"},
	"internal/terminal":         {"internal/lazyregexp"},
	"internal/top":              {"internal/ps"},
	"internal/topology":         {"internal/gpu", "internal/wording"},
	"internal/topology/picture": {"internal/gpu", "internal/svg", "internal/terminal", "internal/topology", "internal/wording"},
	"internal/usage":            {"internal/gpu"},
	"test/oldkernel":            {"test/needs"},
	"test/standin":              {"test/needs", "test/programs"},
}

// What floor 0 may not import, nor any library but the standard one.
var impure = []string{"os", "net", "net/http", "log", "log/slog", "syscall"}

// What floor 0 may not call; a time.Time and a time.Duration are values.
var clocks = map[string]string{"time": `After|AfterFunc|NewTicker|NewTimer|Now|Since|Sleep|Tick|Until`}

// What units on other floors may not import.
var forbidden = map[string][]string{
	"internal/engine": {"os", "net", "net/http"},
}

// Libraries that one package alone may import, with what is below them.
var homes = map[string]string{
	"github.com/pelletier/go-toml/v2": "internal/toml",
	cdiLibrary:                        "internal/cdi",
	"github.com/urfave/cli/v2":        "cmd/metax-ctk",
	"github.com/gdamore/tcell/v2":     "cmd/metax-ctk",
}

// cdiLibrary has a cache that watches directories and reads whatever lies in them.
const cdiLibrary = "tags.cncf.io/container-device-interface/pkg/cdi"

// What only files of tests may import, with what is below it.
var testsOnly = []string{
	module + "test", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal/testscript",
}

// What a whole program must never link, by its package: packages, with those below them.
var unlinked = map[string][]string{
	"cmd/metax-ctk": {
		purego,
		"github.com/russross/blackfriday", "golang.org/x/net/trace", // by the tags of the build
		"github.com/containerd/containerd/v2/client", // ADR 7
	},
	"cmd/metax-docker": {
		purego, "github.com/urfave/cli/v2", "github.com/gdamore",
		"github.com/containerd/containerd/v2", "google.golang.org/grpc",
	},
	"cmd/metax-hook":    hardened,
	"cmd/metax-runtime": hardened,
	"cmd/metax-sim-smi": append(hardened, "encoding/json"), // it is copied into each tree
	// It is dynamic, so that it can load the vendor's library, and otherwise small.
	"cmd/metax-mxsml": {
		"net", "os/user", "os/exec", "plugin", "github.com/urfave/cli/v2", "github.com/gdamore",
		"tags.cncf.io/container-device-interface", "github.com/containerd/containerd/v2", "google.golang.org/grpc",
	},
}

// purego makes a program dynamic.
const purego = "github.com/ebitengine/purego"

// hardened is what may not be in a program that runs with privilege beside a
// stranger's files: nothing that listens, asks or runs C. The CDI library imports
// fsnotify, which watches; TestLibrary keeps it from being called.
var hardened = []string{
	purego, "net", "os/user", "os/exec", "plugin", "runtime/cgo", "github.com/urfave/cli/v2", "github.com/gdamore",
	"github.com/containerd/containerd/v2", "google.golang.org/grpc", "github.com/godbus/dbus",
}

type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	tags := testfile.Read(t, "../../packaging/tags")
	out, err := exec.Command("go", "list", "-deps", "-tags="+strings.TrimSpace(string(tags)), "-json=ImportPath,Dir,GoFiles,Imports,Deps", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// unit returns the key of floors that a package of the module belongs to.
func unit(path string) (string, bool) {
	for p := path; p != ""; {
		if _, ok := floors[p]; ok {
			return p, true
		}
		at := strings.LastIndexByte(p, '/')
		if at < 0 {
			break
		}
		p = p[:at]
	}
	return "", false
}

func TestFloors(t *testing.T) {
	seen := map[string]bool{}     // units
	used := map[string][]string{} // of beside
	for _, p := range list(t) {
		path, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || path == "internal/floors" {
			continue
		}
		from, ok := unit(path)
		if !ok {
			t.Errorf("%s is not in the table of floors", path)
			continue
		}
		seen[from] = true
		if floors[from] == 0 && uses(t, p, clocks) {
			t.Errorf("%s looks at the clock or waits, which floor 0 may not", path)
		}
		for _, imported := range p.Imports {
			if target, ours := strings.CutPrefix(imported, module); ours {
				to, _ := unit(target)
				switch {
				case to == from || floors[to] < floors[from]:
				case floors[to] == floors[from] && slices.Contains(beside[from], to):
					used[from] = append(used[from], to)
				default:
					t.Errorf("%s (floor %d) imports %s (floor %d)", path, floors[from], target, floors[to])
				}
			}
			if floors[from] == 0 && slices.Contains(impure, imported) || slices.Contains(forbidden[from], imported) {
				t.Errorf("%s imports %s, which %s may not", path, imported, from)
			}
			if !strings.HasPrefix(path, "test/") && slices.ContainsFunc(testsOnly, func(library string) bool { return inside(imported, library) }) {
				t.Errorf("%s imports %s, which is for files of tests only", path, imported)
			}
			home := false
			for library, only := range homes {
				if inside(imported, library) {
					home = path == only
					if !home {
						t.Errorf("%s imports %s; only %s may", path, imported, only)
					}
				}
			}
			if floors[from] == 0 && !strings.HasPrefix(imported, module) && !home && strings.Contains(imported, ".") {
				t.Errorf("%s imports %s; floor 0 is standard library only", path, imported)
			}
		}
	}
	for name := range floors {
		if !seen[name] {
			t.Errorf("the table has %s, which is not there", name)
		}
	}
	for from, units := range beside {
		slices.Sort(used[from])
		if diff := cmp.Diff(units, slices.Compact(used[from])); diff != "" {
			t.Errorf("%s imports on its own floor (-allowed +imported):\n%s", from, diff)
		}
	}
}

func TestUnlinked(t *testing.T) {
	pkgs := list(t)
	byPath := map[string]pkg{}
	for _, p := range pkgs {
		byPath[p.ImportPath] = p
	}
	for program, names := range unlinked {
		p, ok := byPath[module+program]
		if !ok {
			t.Errorf("%s is not there", program)
		}
		for _, name := range names {
			i := slices.IndexFunc(p.Deps, func(dep string) bool { return inside(dep, name) })
			if i >= 0 {
				t.Errorf("%s links %s: %s", program, name, strings.Join(chain(byPath, p.ImportPath, p.Deps[i]), " → "))
			}
		}
	}
}

// TestLibrary allows internal/cdi, which alone imports the CDI library, the parser and
// the edits of it, and never the cache.
func TestLibrary(t *testing.T) {
	paths, err := filepath.Glob("../cdi/*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if spec.Path.Value == strconv.Quote(cdiLibrary) && (spec.Name == nil || spec.Name.Name != "libcdi") {
				t.Errorf("%s does not import %s as libcdi", path, cdiLibrary)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && fmt.Sprint(s.X) == "libcdi" {
				used[s.Sel.Name] = true
			}
			return true
		})
	}
	if diff := cmp.Diff([]string{"ContainerEdits", "ParseSpec"}, slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("of %s (-allowed +used):\n%s", cdiLibrary, diff)
	}
}

// chain is a shortest import path between two packages.
func chain(pkgs map[string]pkg, from, to string) []string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range pkgs[queue[0]].Imports {
			if _, seen := before[next]; seen {
				continue
			}
			before[next] = queue[0]
			queue = append(queue, next)
		}
	}
	var path []string
	for at := to; at != ""; at = before[at] {
		path = append([]string{at}, path...)
	}
	return path
}

func inside(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// TestTable compares the table of CONTRIBUTING.md with the table here.
func TestTable(t *testing.T) {
	want := map[string]int{}
	for name, floor := range floors {
		if name, ok := strings.CutPrefix(name, "internal/"); ok {
			want[name] = floor
		}
	}
	for _, program := range []string{"ctk", "docker", "hook", "mxsml", "runtime", "sim-smi"} {
		want["cmd/metax-"+program] = 4
	}
	row := regexp.MustCompile(`(?m)^\| (\d) \|[^|]*\|[^|]*\|([^|]*)\|`)
	got := map[string]int{}
	for _, m := range row.FindAllStringSubmatch(readPage(t, "CONTRIBUTING.md"), -1) {
		for _, name := range quoted.FindAllStringSubmatch(m[2], -1) {
			got[name[1]], _ = strconv.Atoi(m[1])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the floors in CONTRIBUTING.md (-test +page):\n%s", diff)
	}
}

// TestPages looks for the packages that the architecture names.
func TestPages(t *testing.T) {
	for _, page := range []string{"docs/architecture.md", "docs/zh/architecture.md"} {
		for _, name := range missing(quoted.FindAllStringSubmatch(readPage(t, page), -1)) {
			t.Errorf("%s names the package %s, which is not there", page, name)
		}
	}
}

var quoted = regexp.MustCompile("`([a-z/-]+)`")

func readPage(t *testing.T, page string) string {
	t.Helper()
	return testfile.Text(t, "../../"+page)
}

// missing returns the words of the form x/y, as found by quoted, that are not a package.
func missing(words [][]string) (names []string) {
	for _, word := range words {
		name := word[1]
		if !strings.Contains(strings.Trim(name, "/"), "/") || strings.HasPrefix(name, "/") {
			continue
		}
		if !strings.HasPrefix(name, "cmd/") && !strings.HasPrefix(name, "test/") {
			name = "internal/" + name
		}
		if files, err := filepath.Glob("../../" + name + "/*.go"); err != nil || len(files) == 0 {
			names = append(names, word[1])
		}
	}
	return names
}

// TestMissing plants a package that is not there.
func TestMissing(t *testing.T) {
	words := [][]string{{"", "hook/mount"}, {"", "hook/graft"}, {"", "cmd/metax-hook"}, {"", "/dev"}, {"", "lease"}}
	if diff := cmp.Diff([]string{"hook/graft"}, missing(words)); diff != "" {
		t.Error(diff)
	}
}
