// SPDX-License-Identifier: Apache-2.0

package floors

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// powers are what a package can do to the machine, and the packages that may, sorted.
var powers = []struct {
	name string
	// names are functions and types by the package that has them, as a pattern of whole names;
	// an empty pattern is the import itself.
	names   map[string]string
	allowed []string
}{
	{
		name: "touches files",
		names: map[string]string{
			"os":            pathCalls,
			"path/filepath": `EvalSymlinks|Glob|Walk|WalkDir`,
			"syscall":       pathCalls, "golang.org/x/sys/unix": pathCalls,
			"os/user": ``,
		},
		allowed: []string{
			"cmd/metax-ctk", "cmd/metax-docker", "cmd/metax-mxsml", "cmd/metax-runtime",
			"internal/assign", "internal/atomicfile", "internal/backup", "internal/bundle", "internal/capture", "internal/child", "internal/compose/projectfile",
			"internal/dockerd", "internal/doctor", "internal/holders/docker", "internal/holders/drmclients", "internal/holders/procfs",
			"internal/hook", "internal/hook/devcgroup", "internal/hook/inroot", "internal/hook/ldcache",
			"internal/hook/mount", "internal/hook/privilege", "internal/hostfs", "internal/hostfs/hosttree",
			"internal/image", "internal/lease/ledger", "internal/logfile", "internal/node", "internal/ps", "internal/refresh",
			"internal/runc", "internal/setup", "internal/sim/smi", "internal/snapshot", "packaging/licences", "test/drm", "test/enginetest", "test/golden", "test/machine", "test/placement", "test/sandbox", "test/shells", "test/standin", "test/testfile", "test/trusted",
		},
	},
	{
		name: "opens sockets",
		names: map[string]string{
			"net":      `Dial.*|Listen.*|FileConn|FileListener`,
			"net/http": `Get|Head|Post|PostForm|Client|Server|Transport|Serve.*|ListenAndServe.*|Default.*`,
			"syscall":  socketCalls, "golang.org/x/sys/unix": socketCalls,
			"google.golang.org/grpc": ``, "github.com/containerd/containerd/v2/client": ``,
		},
		allowed: []string{
			"internal/dockerd", "internal/holders/containerd", "internal/holders/podresources", "test/drm",
		},
	},
	{
		name: "starts processes or becomes another program",
		names: map[string]string{
			"os":      `StartProcess`,
			"os/exec": ``,
			"syscall": `Exec|ForkExec|StartProcess`, "golang.org/x/sys/unix": `Exec`,
		},
		allowed: []string{
			"cmd/metax-ctk", "cmd/metax-docker", "cmd/metax-hook", "cmd/metax-runtime", "internal/child", "packaging/licences", "test/drm", "test/faults",
			"test/mountns", "test/needs", "test/oldkernel", "test/oldkernel/withkernel", "test/programs", "test/sandbox", "test/shells", "test/standin", "test/vendorlib",
		},
	},
}

const (
	pathCalls = `Access|Chdir|Chmod|Chown|Chroot|Chtimes|CopyFS|Creat.*|DirFS|Faccessat.*|Fchmodat.*|Fchownat|Fsopen|Fstatat|` +
		`Lchown|Lgetxattr|Link.*|Llistxattr|Lsetxattr|Lstat|Mk(dir|fifo|nod).*|Mount|MoveMount|Open|Open(at|at2|File|Root|InRoot|Tree)|` +
		`PivotRoot|Readlink.*|Read(Dir|File)|Remove.*|Rename.*|Rmdir|Setxattr|Stat|Statx|Statfs|Symlink.*|Truncate|Unlink.*|Unmount|Utimes.*|WriteFile`
	socketCalls = `Bind|Connect|Listen|Socket|Socketpair`
)

// TestPowers compares the packages that may with those whose source does.
func TestPowers(t *testing.T) {
	found := make([]map[string]bool, len(powers))
	for i := range found {
		found[i] = map[string]bool{}
	}
	for _, p := range list(t) {
		path, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		for i, power := range powers {
			if uses(t, p, power.names) {
				found[i][path] = true
			}
		}
	}
	for i, power := range powers {
		if diff := cmp.Diff(power.allowed, slices.Sorted(maps.Keys(found[i]))); diff != "" {
			t.Errorf("who %s (-allowed +found):\n%s", power.name, diff)
		}
	}
}

// uses reports whether a file of the package uses one of the names.
func uses(t *testing.T, p pkg, names map[string]string) bool {
	t.Helper()
	return slices.ContainsFunc(p.GoFiles, func(name string) bool {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fileUses(file, names)
	})
}

func fileUses(file *ast.File, names map[string]string) (yes bool) {
	patterns := map[string]*regexp.Regexp{} // by the package's name in the file
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		pattern, listed := names[path]
		if !listed {
			continue
		}
		if pattern == "" {
			return true
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		patterns[name] = regexp.MustCompile("^(" + pattern + ")$")
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if p := patterns[fmt.Sprint(s.X)]; p != nil && p.MatchString(s.Sel.Name) {
				yes = true
			}
		}
		return true
	})
	return yes
}

// TestFileUses plants some uses.
func TestFileUses(t *testing.T) {
	for source, want := range map[string]bool{
		`import "os"; var x = os.Getenv("X")`:                          false,
		`import "os"; func f() { os.OpenFile("x", 0, 0) }`:             true,
		`import other "os"; func f() { other.Stat("x") }`:              true,
		`import "golang.org/x/sys/unix"; var f = unix.Openat`:          true,
		`import "golang.org/x/sys/unix"; const o = unix.O_RDONLY`:      false,
		`import "os/user"; var f = user.Current`:                       true,
		`import "example.org/os"; func f() { os.ReadFile("x") }`:       false,
		`import "path/filepath"; func f() { filepath.Walk("x", nil) }`: true,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p; "+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := fileUses(file, powers[0].names); got != want {
			t.Errorf("%s: %t, want %t", source, got, want)
		}
	}
}
