package sim_test

import (
	"context"
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
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// shells are the command lines of this machine's POSIX shells.
func shells() [][]string {
	found := [][]string{{"/bin/sh"}}
	for _, words := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		if p, err := exec.LookPath(words[0]); err == nil {
			found = append(found, append([]string{p}, words[1:]...))
		}
	}
	return found
}

// written writes the files that the mx-smi of a node's host reads, and returns the
// root.
func written(t testing.TB, n gpu.Node) string {
	t.Helper()
	tree := hostTree(t, n)
	maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool { return strings.HasPrefix(p, "sys/") })
	root := filepath.Join(t.TempDir(), "host")
	if err := tree.Write(root); err != nil {
		t.Fatal(err)
	}
	return root
}

// smi runs the mx-smi of a host tree. PATH is empty, so that only shell builtins are
// found.
func smi(t testing.TB, shell []string, root string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	words := slices.Concat(shell, []string{filepath.Join(root, "opt/mxdriver/bin/mx-smi")}, args)
	var out, errs strings.Builder
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"PATH=/nowhere"}, &out, &errs
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
		for _, shell := range shells() {
			out, stderr, code := smi(t, shell, root, "topo", "-m")
			if code != 0 || stderr != "" {
				t.Errorf("%s, %v: exit code %d, %s", name, shell, code, stderr)
			}
			if diff := cmp.Diff(cells(graph), matrixOf(out, graph.Len())); diff != "" {
				t.Errorf("%s, %v: matrix (-want +got):\n%s", name, shell, diff)
			}
		}
	}
}

// TestMXSMIGolden compares the output of every shell byte for byte.
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
		golden := filepath.Join("testdata", "mx-smi-"+name+".txt")
		for i, shell := range shells() {
			out, stderr, code := smi(t, shell, root, args...)
			if code != 0 || stderr != "" {
				t.Errorf("%v %v: exit code %d, %s", shell, args, code, stderr)
			}
			if *update && i == 0 {
				if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out); diff != "" {
				t.Errorf("%v %v (-want +got):\n%s", shell, args, diff)
			}
		}
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
	for _, shell := range shells() {
		list, _, _ := smi(t, shell, root, "-L")
		var got strings.Builder
		for line := range strings.Lines(list) {
			if f := strings.Fields(line); len(f) == 6 && strings.HasPrefix(f[0], "GPU#") {
				fmt.Fprintf(&got, "%s %s %s\n", f[0], f[2], strings.TrimSuffix(f[5], ")"))
			}
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("%v: list (-want +got):\n%s", shell, diff)
		}
		matrix, _, _ := smi(t, shell, root, "topo", "-m")
		if diff := cmp.Diff("X MX NODE\nMX X NODE\nNODE NODE X\n", matrixOf(matrix, 3)); diff != "" {
			t.Errorf("%v: matrix (-want +got):\n%s", shell, diff)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "dev/dri")); err != nil {
		t.Fatal(err)
	}
	for _, shell := range shells() {
		out, stderr, code := smi(t, shell, root, "-L")
		if out != "" || code != 1 || !strings.Contains(stderr, "no MetaX GPU can be seen") {
			t.Errorf("%v without nodes: exit code %d, %q, %q", shell, code, out, stderr)
		}
	}
}

func TestMXSMIErrors(t *testing.T) {
	root := written(t, simtest.Node(t, "c500-1"))
	for _, args := range [][]string{{"--no-such"}, {"topo"}, {"topo", "-x"}, {"-L", "more"}, {"mxlk", "--show"}} {
		for _, shell := range shells() {
			out, stderr, code := smi(t, shell, root, args...)
			if out != "" || code != 1 || !strings.Contains(stderr, "unknown command or option: "+strings.Join(args, " ")) {
				t.Errorf("%v %v: exit code %d, %q, %q", shell, args, code, out, stderr)
			}
		}
	}
}

// TestMXSMICalled calls the tool by other names than its full path.
func TestMXSMICalled(t *testing.T) {
	root := written(t, simtest.Node(t, "c500-1"))
	home := filepath.Join(root, "opt/mxdriver/bin")
	want, _, _ := smi(t, []string{"/bin/sh"}, root, "-L")
	// The link in usr/bin is absolute, as on a real host, and leads elsewhere outside
	// its root, so the tool itself is copied there.
	copied := filepath.Join(root, "usr/bin/mx-smi")
	if err := os.Remove(copied); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(copied, filepath.Join(home, "mx-smi")); err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(root, "opt/mxdriver-1/bin/mx-smi") // where a driver of a payload is
	if err := os.MkdirAll(filepath.Dir(beside), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(beside, filepath.Join(home, "mx-smi")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir string
		cmd *exec.Cmd
	}{
		{"/", exec.CommandContext(context.Background(), filepath.Join(home, "mx-smi"), "-L")},
		{"/", exec.CommandContext(context.Background(), beside, "-L")},
		{"/", exec.CommandContext(context.Background(), copied, "-L")},
		{home, exec.CommandContext(context.Background(), "/bin/sh", "mx-smi", "-L")},
		{home, exec.CommandContext(context.Background(), "/bin/sh", "./mx-smi", "-L")},
		{root, exec.CommandContext(context.Background(), "/bin/sh", "opt/mxdriver/bin/mx-smi", "-L")},
	} {
		tt.cmd.Dir = tt.dir
		out, err := tt.cmd.Output()
		if err != nil || string(out) != want {
			t.Errorf("in %s, %v: %v\n%s", tt.dir, tt.cmd.Args, err, out)
		}
	}
}
