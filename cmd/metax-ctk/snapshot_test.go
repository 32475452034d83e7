// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// simulated writes the host of a simulated node, changed by edit.
func simulated(t *testing.T, name string, edit func(hosttree.Tree)) (root string, node gpu.Node) {
	t.Helper()
	node, tree := simtest.Host(t, name)
	if edit != nil {
		edit(tree)
	}
	return simtest.Write(t, sim.WithSMI(tree, node, standin.SMI(t))).Dir(), node
}

// ctk runs one command line and returns what it printed.
func ctk(t *testing.T, d deps, args ...string) (code int, out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if d.In == nil {
		d.In = strings.NewReader("")
	}
	d.Out, d.Err = &stdout, &stderr
	code = runCommandLine(t.Context(), append([]string{"metax-ctk"}, args...), d)
	return code, stdout.String(), stderr.String()
}

// taken is a snapshot of a host tree, in a file.
func taken(t *testing.T, d deps, root string) (file string, s snapshot.Snapshot) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "snapshot.txt")
	if code, _, said := ctk(t, d, "--root", root, "snapshot", "--output", file); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = snapshot.Parse(text); err != nil {
		t.Fatal(err)
	}
	return file, s
}

// standIns replaces the words of a node in what was printed of it by those that its
// snapshot has for them, given the node that the snapshot shows.
func standIns(t *testing.T, of, as gpu.Node, printed string) string {
	t.Helper()
	if len(of.GPUs) != len(as.GPUs) {
		t.Fatalf("%d GPUs became %d", len(of.GPUs), len(as.GPUs))
	}
	pairs := [][2]string{{`"name": "` + of.Name + `"`, `"name": "` + as.Name + `"`}}
	put := func(from, to string) {
		if (from == "") != (to == "") || from != "" && from == to {
			t.Errorf("%q became %q", from, to)
		}
		if from != "" {
			pairs = append(pairs, [2]string{from, to})
		}
	}
	for i, g := range of.GPUs {
		put(string(g.UUID), string(as.GPUs[i].UUID))
		put(g.Serial, as.GPUs[i].Serial)
		for k, s := range g.Slices {
			put(s.UUID, as.GPUs[i].Slices[k].UUID)
			put(s.Alias, as.GPUs[i].Slices[k].Alias)
		}
	}
	// One may be the beginning of another.
	slices.SortFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	var words []string
	for _, p := range pairs {
		words = append(words, p[0], p[1])
	}
	return strings.NewReplacer(words...).Replace(printed)
}

func decoded(t *testing.T, text string) gpu.Node {
	t.Helper()
	node, err := gpu.DecodeNode([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return node
}

// A snapshot shows every command the node that it was taken of, and an address of a
// GPU is the same.
func TestReplay(t *testing.T) {
	for n, name := range append(sim.Names(), "sim:2x2x4") {
		if !some(n) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			root, _ := simulated(t, name, nil)
			d := deps{Run: remembered()}
			file, _ := taken(t, d, root)
			_, listed, there := ctk(t, d, "--root", root, "device", "list", "-o", "json")
			_, replayed, said := ctk(t, deps{}, "--node", file, "device", "list", "-o", "json")
			of, as := decoded(t, listed), decoded(t, replayed)
			if as.Name != "host-1" || said != there {
				t.Errorf("the host is called %q; said %q, and of the host itself %q", as.Name, said, there)
			}
			if diff := cmp.Diff(standIns(t, of, as, listed), replayed); diff != "" {
				t.Errorf("device list (-host +snapshot):\n%s", diff)
			}
			for _, command := range [][]string{
				{"topology", "print"},
				{"pick", "1", "-o", "json"},
				{"cdi", "generate", "--output", "-", "--engine-root", "/"},
			} {
				codeHost, host, _ := ctk(t, d, append([]string{"--root", root}, command...)...)
				code, got, said := ctk(t, deps{}, append([]string{"--node", file}, command...)...)
				want := standIns(t, of, as, host)
				if command[0] == "topology" {
					want = strings.ReplaceAll(want, of.Name, as.Name)
					for i, g := range of.GPUs { // which a tree abbreviates
						want = strings.ReplaceAll(want, short(g.UUID), short(as.GPUs[i].UUID))
					}
				}
				if diff := cmp.Diff(want, got); code != codeHost || diff != "" {
					t.Errorf("%v: exit codes %d and %d: %s (-host +snapshot):\n%s", command, codeHost, code, said, diff)
				}
			}
		})
	}
}

// remembered runs mx-smi once for each question: it is a shell script, and takes
// seconds for many GPUs.
func remembered() func(context.Context, string, ...string) ([]byte, error) {
	said := map[string][]byte{}
	return func(ctx context.Context, path string, args ...string) ([]byte, error) {
		key := strings.Join(args, " ")
		if out, ok := said[key]; ok {
			return out, nil
		}
		out, err := child.Tool(ctx, path, args...)
		if err == nil {
			said[key] = out
		}
		return out, err
	}
}

// short is how a tree prints a UUID.
func short(u gpu.UUID) string { return string(u)[:min(len(u), 12)] + "…" }

// What fails on a host fails in its snapshot, in the same words.
func TestReplayTrouble(t *testing.T) {
	const at = "sys/devices/pci0000:0a/0000:0b:00.0/0000:0c:00.0/"
	for n, tt := range []struct {
		name string
		edit func(hosttree.Tree)
		run  func(context.Context, string, ...string) ([]byte, error)
	}{
		{"no mx-smi", func(tr hosttree.Tree) { delete(tr, "opt/mxdriver/bin/mx-smi"); delete(tr, "usr/bin/mx-smi") }, child.Tool},
		{"mx-smi fails", func(tr hosttree.Tree) {
			tr["opt/mxdriver/bin/mx-smi"] = hosttree.File{Data: "#!/bin/sh\necho broken >&2\nexit 7\n", Perm: 0o755}
		}, child.Tool},
		{"mx-smi cannot be run", nil, func(_ context.Context, path string, _ ...string) ([]byte, error) {
			return nil, fmt.Errorf("run %s: %w", path, errors.New("no such device"))
		}},
		{"a node is gone", func(tr hosttree.Tree) { delete(tr, "dev/dri/renderD129") }, child.Tool},
		{"a node is a file", func(tr hosttree.Tree) { tr["dev/dri/renderD129"] = hosttree.File{} }, child.Tool},
		{"no control device", func(tr hosttree.Tree) { delete(tr, "dev/mxcd") }, child.Tool},
		{"other numbers", func(tr hosttree.Tree) { tr["dev/dri/card1"] = hosttree.Device{Major: 226, Minor: 9, Perm: 0o600} }, child.Tool},
		{"MXMACA leads nowhere", func(tr hosttree.Tree) { tr["opt/maca"] = hosttree.Link("/opt/maca-9") }, child.Tool},
		{"MXMACA elsewhere", func(tr hosttree.Tree) {
			tr["opt/maca"] = hosttree.Link("/data/maca")
			tr["data/maca/Version.txt"] = hosttree.File{Data: "Version:2.32.0.6\n"}
		}, child.Tool},
		{"no version", func(tr hosttree.Tree) {
			delete(tr, "opt/maca-3.3.0.15/Version.txt")
			delete(tr, "sys/module/metax/version")
		}, child.Tool},
		{"no module", func(tr hosttree.Tree) {
			for p := range tr {
				if strings.HasPrefix(p, "sys/module/metax") || strings.HasSuffix(p, "/driver") || p == "sys/bus/pci/drivers/metax/module" {
					delete(tr, p)
				}
			}
		}, child.Tool},
		{"odd values", func(tr hosttree.Tree) {
			for p := range tr {
				if strings.HasPrefix(p, at) && strings.HasSuffix(p, "/numa_node") {
					tr[p] = hosttree.File{Data: "x\n"}
				}
				if strings.HasPrefix(p, at) && strings.HasSuffix(p, "/vendor") && strings.Contains(p, ":0e:") {
					tr[p] = hosttree.File{}
				}
			}
		}, child.Tool},
		{"no GPU", func(tr hosttree.Tree) {
			for p := range tr {
				if strings.HasPrefix(p, "sys/bus/pci/devices/") {
					delete(tr, p)
				}
			}
		}, child.Tool},
		{"nothing", func(tr hosttree.Tree) { clear(tr); tr["etc"] = hosttree.Dir{} }, child.Tool},
	} {
		if !some(n) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			root, _ := simulated(t, "c500-8", tt.edit)
			file, _ := taken(t, deps{Run: tt.run}, root)
			codeHost, listed, saidHost := ctk(t, deps{Run: tt.run}, "--root", root, "device", "list", "-o", "json")
			code, replayed, said := ctk(t, deps{}, "--node", file, "device", "list", "-o", "json")
			want := strings.ReplaceAll(saidHost, root, "")
			said = strings.Replace(said, "read node file "+file+": ", "", 1)
			if codeHost == 0 && code == 0 {
				of, as := decoded(t, listed), decoded(t, replayed)
				listed, want = standIns(t, of, as, listed), standIns(t, of, as, want)
			}
			if code != codeHost || strings.ReplaceAll(listed, root, "") != replayed || want != said {
				t.Errorf("exit codes %d and %d (-host +snapshot):\n%s%s", codeHost, code, cmp.Diff(strings.ReplaceAll(listed, root, ""), replayed), cmp.Diff(want, said))
			}
		})
	}
}

// What libmxsml told is replayed, too.
func TestReplayLibrary(t *testing.T) {
	root, node := simulated(t, "c500-8-sgpu", nil)
	lib := standin.Build(t, filepath.Join(root, "opt/mxdriver/lib"), node)
	t.Setenv(child.LibraryVariable, standin.Program(t, t.TempDir()))
	for _, trouble := range []string{"", "crash mxSmlInit 0"} {
		if trouble != "" {
			standin.Tell(t, lib, node, trouble)
		}
		d := deps{Run: child.Tool, Library: child.Library()}
		file, s := taken(t, d, root)
		if !s.Asked("metax-mxsml") || s.Asked("mx-smi") != (trouble != "") {
			t.Errorf("asked were %+v", s.Answers)
		}
		_, listed, saidHost := ctk(t, d, "--root", root, "device", "list", "-o", "json")
		_, replayed, said := ctk(t, deps{}, "--node", file, "device", "list", "-o", "json")
		of, as := decoded(t, listed), decoded(t, replayed)
		if diff := cmp.Diff(standIns(t, of, as, strings.ReplaceAll(listed, root, "")), replayed); diff != "" {
			t.Errorf("%q: device list (-host +snapshot):\n%s", trouble, diff)
		}
		if want := strings.ReplaceAll(saidHost, root, ""); want != said && trouble == "" {
			t.Errorf("said (-host +snapshot):\n%s", cmp.Diff(want, said))
		}
	}
}

// Two snapshots of one node are the same, may be read by their owner alone, and can
// come from standard input.
func TestSnapshotFile(t *testing.T) {
	root, _ := simulated(t, "c500-8-degraded", nil)
	file, _ := taken(t, deps{Run: child.Tool}, root)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info.Mode(), err)
	}
	text := testfile.Text(t, file)
	code, out, said := ctk(t, deps{Run: child.Tool}, "--root", root, "snapshot", "-")
	if code != 0 || said != "" {
		t.Errorf("exit code %d: %s", code, said)
	}
	if diff := cmp.Diff(text, out); diff != "" {
		t.Errorf("another time (-first +second):\n%s", diff)
	}
	code, listed, said := ctk(t, deps{In: strings.NewReader(out)}, "--node", "-", "device", "list")
	if code != 0 || strings.Count(listed, "MXC500") != 8 {
		t.Errorf("exit code %d: %s%s", code, listed, said)
	}
	for _, args := range [][]string{
		{"--node", "c500-8", "snapshot"},
		{"--root", root, "snapshot", "one", "more"},
		{"--root", root, "snapshot", "one", "--output=more"},
		{"--root", root, "snapshot", "--output="},
	} {
		if code, _, said := ctk(t, deps{Run: child.Tool}, args...); code != exitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, said)
		}
	}
}

// A bug report is a snapshot with more parts.
func TestBugreport(t *testing.T) {
	root, _ := simulated(t, "c500-8", nil)
	file := filepath.Join(t.TempDir(), "report.txt")
	code, _, said := ctk(t, deps{Run: child.Tool}, "--root", root, "bugreport", "--output", file)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	text := testfile.Read(t, file)
	node := simtest.Node(t, "c500-8")
	for _, g := range node.GPUs {
		for _, secret := range []string{string(g.UUID), g.Serial} {
			secret = strings.TrimPrefix(secret, "GPU-")
			bytes := fmt.Sprintf("% x", secret)
			for _, form := range []string{secret, bytes, strings.ReplaceAll(bytes, " ", ""), strings.ReplaceAll(bytes, " ", "-")} {
				if strings.Contains(strings.ToLower(string(text)), strings.ToLower(form)) {
					t.Errorf("the report has %q of GPU %d", form, g.Index)
				}
			}
		}
	}
	s, err := snapshot.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if v := s.Reports["versions"]; !strings.HasPrefix(v, "metax-ctk ") || !strings.Contains(v, "\ndriver: 3.4.4\n") || !strings.Contains(v, "system: Simulated") {
		t.Errorf("versions: %s", v)
	}
	if found := s.Reports["doctor"]; found == "" || strings.Contains(found, "c500-8") || strings.Contains(found, root) {
		t.Errorf("doctor: %s", found)
	}
	if code, out, said := ctk(t, deps{}, "--node", file, "pick", "2"); code != 0 || out != "0,1\n" {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
}
