package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/cmd/internal/where"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
)

// What doctor finds on a host it finds on its snapshot.
func TestReplayDoctor(t *testing.T) {
	for name, edit := range map[string]func(hosttree.Tree){
		"as it is":             nil,
		"no control device":    func(tr hosttree.Tree) { delete(tr, "dev/mxcd") },
		"a broken daemon.json": func(tr hosttree.Tree) { tr["etc/docker/daemon.json"] = hosttree.File{Data: "{\n  \"a\": ,\n}\n"} },
		"a broken spec":        func(tr hosttree.Tree) { tr["etc/cdi/other.json"] = hosttree.File{Data: "{"} },
		"a dangling link":      func(tr hosttree.Tree) { tr["opt/maca"] = hosttree.Link("maca-9") },
	} {
		t.Run(name, func(t *testing.T) {
			root, _ := simulated(t, "c500-8", edit)
			if code, _, said := ctk(t, deps{Run: runTool}, "--root", root, "cdi", "generate", "--engine-root", "/"); code != 0 && edit == nil {
				t.Fatalf("exit code %d: %s", code, said)
			}
			file, _ := taken(t, deps{Run: runTool}, root)
			at, done, err := where.Where{Node: file}.Unpack()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := done(); err != nil {
					t.Error(err)
				}
			}()
			codeHost, host, _ := ctk(t, deps{Run: runTool}, "--root", root, "doctor")
			code, got, said := ctk(t, deps{Run: at.Run}, "--root", at.Root, "doctor")
			if !strings.Contains(host, " checks, ") {
				t.Errorf("doctor said %q on the host", host)
			}
			if diff := cmp.Diff(strings.ReplaceAll(host, root, ""), strings.ReplaceAll(got, at.Root, "")); diff != "" || code != codeHost {
				t.Errorf("exit codes %d and %d: %s (-host +snapshot):\n%s", codeHost, code, said, diff)
			}
		})
	}
}
