// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/test/testfile"
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
			if code, _, said := ctk(t, deps{Run: child.Tool}, "--root", root, "cdi", "generate", "--engine-root", "/"); code != 0 && edit == nil {
				t.Fatalf("exit code %d: %s", code, said)
			}
			file, _ := taken(t, deps{Run: child.Tool}, root)
			at, done, err := node.Selector{Node: file}.Unpack()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := done(); err != nil {
					t.Error(err)
				}
			}()
			codeHost, host, _ := ctk(t, deps{Run: child.Tool}, "--root", root, "doctor")
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

// A spec that was generated for engines here, with paths below the root, is up to date
// in the snapshot too, and no text tells where the root was.
func TestReplayRoot(t *testing.T) {
	root, _ := simulated(t, "c500-8", func(tr hosttree.Tree) {
		tr["etc/containers"] = hosttree.Dir{}
	})
	conf := filepath.Join(root, "etc/containers/containers.conf")
	testfile.Write(t, conf, "[engine]\nhooks_dir = [\""+root+"/etc/hooks\"]\n", 0o644)
	d := deps{Run: func(ctx context.Context, path string, args ...string) ([]byte, error) {
		out, err := child.Tool(ctx, path, args...)
		return append(out, ("# " + path + "\n")...), err
	}}
	for _, there := range []bool{false, true} {
		if there {
			if code, _, said := ctk(t, d, "--root", root, "cdi", "generate"); code != 0 {
				t.Fatalf("exit code %d: %s", code, said)
			}
			specs, err := filepath.Glob(filepath.Join(root, "var/run/cdi/*"))
			if err != nil || len(specs) == 0 {
				t.Fatalf("no spec was written: %v", err)
			}
			if text, err := os.ReadFile(specs[0]); err != nil || !strings.Contains(string(text), root+"/dev/mxcd") {
				t.Fatalf("the spec is not of the root: %v: %s", err, text)
			}
		}
		code, text, said := ctk(t, d, "--root", root, "bugreport", "-")
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, said)
		}
		for _, word := range []string{root, "--root"} {
			if at := strings.Index(text, word); at >= 0 {
				t.Errorf("%q is in it: …%s…", word, text[max(0, at-200):min(len(text), at+100)])
			}
		}
		if !there && !strings.Contains(text, "fix  metax-ctk cdi generate ") {
			t.Error("doctor's part has no command of the host")
		}
		file := filepath.Join(t.TempDir(), "report.txt")
		testfile.Write(t, file, text, 0o600)
		code, found, said := ctk(t, deps{}, "--node", file, "doctor")
		if healthy := code == 0 && strings.Contains(found, ", 0 findings"); healthy != there {
			t.Errorf("a spec is there: %v; doctor of the snapshot: %s%s", there, found, said)
		}
	}
}
