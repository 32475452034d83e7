// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// written writes the files that the mx-smi of a node's host reads, and returns the
// root.
func written(t testing.TB, n gpu.Node) string {
	t.Helper()
	tree := sim.WithSMI(hostTree(t, n), n, standin.SMI(t))
	maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool { return strings.HasPrefix(p, "sys/") })
	root := filepath.Join(t.TempDir(), "host")
	if err := tree.Write(root); err != nil {
		t.Fatal(err)
	}
	return root
}

// smi runs the mx-smi of a host tree, without a PATH.
func smi(t testing.TB, root string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.Command(filepath.Join(root, "opt/mxdriver/bin/mx-smi"), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{}, &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// matrixOf returns the cells of the GPUs' rows in a matrix of n GPUs.
func matrixOf(text string, n int) string {
	var rows strings.Builder
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); strings.HasPrefix(line, "GPU") && len(f) > n {
			rows.WriteString(strings.Join(f[1:n+1], " ") + "\n")
		}
	}
	return rows.String()
}

func TestMXSMIMatrix(t *testing.T) {
	for _, name := range append(sim.Names(), "sim:3x2x2") {
		n := simtest.Node(t, name)
		root := written(t, n)
		graph, _ := topology.New(n)
		out, stderr, code := smi(t, root, "topo", "-m")
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
		}
		if diff := cmp.Diff(cells(graph), matrixOf(out, graph.Len())); diff != "" {
			t.Errorf("%s: matrix (-want +got):\n%s", name, diff)
		}
	}
}

// TestMXSMIGolden compares the output byte for byte.
func TestMXSMIGolden(t *testing.T) {
	n := simtest.Node(t, "c500-4-degraded")
	n.GPUs[2].Healthy = false
	n.GPUs[3].Model = `o'clock"$(x)`
	root := written(t, n)
	for _, args := range [][]string{
		nil, {"-L"}, {"topo", "-m"}, {"topo", "-n"}, {"--show-sn"}, {"--show-hwinfo"}, {"--show-memory"}, {"--show-version"}, {"-v"}, {"-h"},
	} {
		name := strings.Trim(strings.ReplaceAll(strings.Join(args, "-"), "--", "-"), "-")
		if name == "" {
			name = "table"
		}
		out, stderr, code := smi(t, root, args...)
		if code != 0 || stderr != "" {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
		golden.Equal(t, "testdata/mx-smi-"+name+".txt", out)
	}
}

// TestMXSMIVisible removes render nodes, as a container does.
func TestMXSMIVisible(t *testing.T) {
	n := simtest.Node(t, "c500-8")
	root := written(t, n)
	keep := []int{2, 3, 6}
	for i, g := range n.GPUs {
		if !slices.Contains(keep, i) {
			if err := os.Remove(filepath.Join(root, g.Nodes[1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	var want strings.Builder
	for k, i := range keep {
		fmt.Fprintf(&want, "GPU#%d %s %s\n", k, n.GPUs[i].BDF, n.GPUs[i].UUID)
	}
	list, _, _ := smi(t, root, "-L")
	var got strings.Builder
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) == 6 && strings.HasPrefix(f[0], "GPU#") {
			fmt.Fprintf(&got, "%s %s %s\n", f[0], f[2], strings.TrimSuffix(f[5], ")"))
		}
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	matrix, _, _ := smi(t, root, "topo", "-m")
	if diff := cmp.Diff("X MX NODE\nMX X NODE\nNODE NODE X\n", matrixOf(matrix, 3)); diff != "" {
		t.Errorf("matrix (-want +got):\n%s", diff)
	}
	if err := os.RemoveAll(filepath.Join(root, "dev/dri")); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := smi(t, root, "-L")
	if out != "" || code != 1 || !strings.Contains(stderr, "no MetaX GPU can be seen") {
		t.Errorf("without nodes: exit code %d, %q, %q", code, out, stderr)
	}
}

func TestMXSMIErrors(t *testing.T) {
	root := written(t, simtest.Node(t, "c500-1"))
	for _, args := range [][]string{{"--no-such"}, {"topo"}, {"topo", "-x"}, {"-L", "more"}, {"mxlk", "--show"}} {
		out, stderr, code := smi(t, root, args...)
		if out != "" || code != 1 || !strings.Contains(stderr, "unknown command or option: "+strings.Join(args, " ")) {
			t.Errorf("%v: exit code %d, %q, %q", args, code, out, stderr)
		}
	}
}

// TestMXSMICalled calls the tool by other names than its full path.
func TestMXSMICalled(t *testing.T) {
	root := written(t, simtest.Node(t, "c500-1"))
	home := filepath.Join(root, "opt/mxdriver")
	want, _, _ := smi(t, root, "-L")
	// The link in usr/bin is absolute, as on a real host, and leads elsewhere outside its
	// root.
	linked := filepath.Join(root, "usr/bin/mx-smi")
	if err := errors.Join(os.Remove(linked), os.Symlink("../../opt/mxdriver/bin/mx-smi", linked)); err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(root, "opt/mxdriver-1") // where a driver of a payload is
	if err := os.CopyFS(beside, os.DirFS(home)); err != nil {
		t.Fatal(err)
	}
	for dir, program := range map[string]string{
		"/": filepath.Join(home, "bin/mx-smi"), "/tmp": filepath.Join(beside, "bin/mx-smi"), "/usr": linked,
		home: "bin/mx-smi", filepath.Join(home, "bin"): "./mx-smi", root: "opt/mxdriver/bin/mx-smi",
	} {
		cmd := exec.Command(program, "-L")
		if cmd.Dir = dir; !filepath.IsAbs(program) {
			cmd.Path = program
		}
		out, err := cmd.Output()
		if err != nil || string(out) != want {
			t.Errorf("in %s, %s: %v\n%s", dir, program, err, out)
		}
	}
}

// TestMXSMISize bounds what a tree grows by, in bytes.
func TestMXSMISize(t *testing.T) {
	if n := len(standin.SMI(t)); n > 3_000_000 {
		t.Errorf("mx-smi has %d bytes", n)
	}
}

// TestMXSMIFacts: mx-smi prints what an edit of the file of facts says, and an error names a
// line that it cannot read.
func TestMXSMIFacts(t *testing.T) {
	root := written(t, simtest.Node(t, "c500-1"))
	file := filepath.Join(root, "opt/mxdriver/share/mx-smi/node.txt")
	text := testfile.Text(t, file)
	for _, tt := range []struct{ from, to, want string }{
		{" Available ", " Unavailable ", " Unavailable (UUID: "},
		{"\ngpu ", "\ncpu ", "mx-smi: " + file + ": line 7: it is not a line of the facts"},
	} {
		edited := strings.Replace(text, tt.from, tt.to, 1)
		testfile.Write(t, file, edited, 0o644)
		if out, stderr, _ := smi(t, root, "-L"); !strings.Contains(out+stderr, tt.want) {
			t.Errorf("%q: %s%s", tt.from, out, stderr)
		}
	}
}
