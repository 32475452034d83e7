// SPDX-License-Identifier: Apache-2.0

// Package floors checks which package of the cluster side may import which.
package floors

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const (
	module = "github.com/metax-ctk/container-toolkit/"
	rooms  = module + "k8s/internal/"
)

// houses are the folders of internal that belong to one program. A package of a house imports
// its own house and the shared rooms, which are all other folders of internal.
var houses = []string{"agent", "device", "exporter", "kubectl", "label", "operator", "scheduler"}

// shared are the shared rooms, with the shared rooms that each may import.
var shared = map[string][]string{
	"archive": nil, "logging": {"protocol"}, "objects": {"protocol"}, "program": {"logging", "protocol"}, "protocol": nil, "reader": {"protocol"}, "report": {"protocol"},
	"slicefile": {"protocol"}, "status": {"webserver"}, "webserver": nil,
}

// crossings are the imports of one house by another, with the reason.
var crossings = map[string]string{
	"kubectl/view → scheduler/nodescore": "kubectl metax why says what the scheduler extender answers",
	"label/cleanup → device/allocate":    "slices are removed by the names that the device plugin gives them",
	"label/cleanup → operator/rollout":   "nodes that an upgrade cordoned are uncordoned by its record",
}

// What a pure package may not import, nor what it depends on.
var impure = []string{"golang.org/x/sys/unix", "log/slog", "net", "net/http", "os", "os/exec", "syscall"}

// values are packages with doors of which pure packages use the values alone. What is below
// them is not looked at, but for processes.
var values = map[string]string{
	"internal/cdi":                    "the names of devices",
	"internal/discover":               "NotLoaded and LinksUnknown, which judge a Node",
	"internal/holders/podresources":   "Container, what the kubelet lists",
	"k8s/internal/device/allocations": "State; the file is Store's",
	"k8s/internal/objects":            "Objects; the API server is Client's",
	"k8s/internal/reader":             "Change, what a reader is told",
	"k8s/internal/report":             "Report; the files are for agents and labels",
}

type pkg struct {
	ImportPath string
	Imports    []string
}

// list returns the packages of the cluster side with all that they depend on, by path.
func list(t *testing.T) map[string]pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-C", "../..", "-deps", "-json=ImportPath,Imports", "./cmd/...", "./api/...", "./internal/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	pkgs := map[string]pkg{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs[p.ImportPath] = p
	}
}

func TestFloors(t *testing.T) {
	seen, crossed := map[string]bool{}, map[string]bool{}
	for _, p := range list(t) {
		from, ours := strings.CutPrefix(p.ImportPath, rooms)
		if !ours || from == "floors" {
			continue
		}
		room, _, _ := strings.Cut(from, "/")
		seen[room] = true
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, rooms)
			target, _, _ := strings.Cut(to, "/")
			_, isShared := shared[target]
			arrow := from + " → " + to
			switch {
			case !ours || target == room:
			case slices.Contains(houses, room) && isShared, slices.Contains(shared[room], target):
			case crossings[arrow] != "":
				crossed[arrow] = true
			default:
				t.Errorf("%s: a house imports the shared rooms, and a shared room what is listed here", arrow)
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(houses, slices.Collect(maps.Keys(shared))))), slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("the rooms (-listed +there):\n%s", diff)
	}
	for arrow := range crossings {
		if !crossed[arrow] {
			t.Errorf("%s is allowed, but not there", arrow)
		}
	}
}

// TestPure looks at all that those packages depend on which docs/kubernetes-architecture.md
// calls pure.
func TestPure(t *testing.T) {
	page := testfile.Text(t, "../../../docs/kubernetes-architecture.md")
	pkgs, used := list(t), map[string]bool{}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| yes \\|").FindAllStringSubmatch(page, -1)
	for _, row := range rows {
		path := "k8s/" + row[1]
		for _, found := range doors(pkgs, path, used) {
			t.Errorf("%s is called pure: %s", path, found)
		}
	}
	if len(rows) < 10 {
		t.Errorf("only %d packages are called pure", len(rows))
	}
	for name := range values {
		if !used[name] {
			t.Errorf("%s is allowed, but no pure package uses it", name)
		}
	}
}

// doors returns the imports by which a package, or one of this project that it depends on, is not pure, each with the
// way there. It adds to used which of values it met.
func doors(pkgs map[string]pkg, path string, used map[string]bool) (found []string) {
	type place struct {
		path, way string
		beyond    bool // what a package of values imports
	}
	seen := map[place]bool{} // without the ways
	for queue := []place{{path, path, false}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if values[at.path] != "" && at.path != path {
			used[at.path], at.beyond = true, true
		}
		for _, imported := range pkgs[module+at.path].Imports {
			name, ours := strings.CutPrefix(imported, module)
			next := place{path: name, beyond: at.beyond}
			switch {
			case ours && !seen[next]:
				seen[next] = true
				queue = append(queue, place{name, at.way + " → " + name, at.beyond})
			case !ours && slices.Contains(impure, imported) && (!at.beyond || imported == "os/exec"):
				found = append(found, at.way+" → "+imported)
			}
		}
	}
	return found
}

// TestDoors plants imports.
func TestDoors(t *testing.T) {
	pkgs := map[string]pkg{}
	for from, imports := range map[string]string{
		"a": "b k8s/internal/report", "b": "c", "c": "os", "k8s/internal/report": "os d", "d": "net os/exec", "pure": "strings",
	} {
		var list []string
		for _, name := range strings.Fields(imports) {
			if name != "os" && name != "net" && name != "os/exec" && name != "strings" {
				name = module + name
			}
			list = append(list, name)
		}
		pkgs[module+from] = pkg{module + from, list}
	}
	used := map[string]bool{}
	want := []string{"a → b → c → os", "a → k8s/internal/report → d → os/exec"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(doors(pkgs, "a", used)))); diff != "" || !used["k8s/internal/report"] {
		t.Error(diff)
	}
	if found := doors(pkgs, "pure", used); len(found) > 0 {
		t.Error(found)
	}
}
