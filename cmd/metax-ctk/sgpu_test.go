// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sgpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int{
		"4G": 4096, "4g": 4096, "1M": 1, "4096M": 4096, "2097151G": 2097151 * 1024,
		"": 0, "4": 0, "G": 0, "0G": 0, "-1G": 0, "+1G": 0, "1.5G": 0, "4GB": 0, "4 G": 0, "4T": 0, "2097152G": 0, "99999999999999999999M": 0,
	} {
		if got, err := sgpu.ParseSize(in); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v; want %d", in, got, err, want)
		}
	}
}

// sliced runs an sgpu command on a tree with the vendor's library, and mx-smi.
func sliced(t *testing.T, library mxsml.Run, root string, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	words := append([]string{"metax-ctk", "--root", root, "sgpu"}, args...)
	code = runCommandLine(context.Background(), words, deps{Out: &stdout, Err: &stderr, Library: library, Run: child.Tool})
	return stdout.String(), stderr.String(), code
}

// TestSGPUByLibrary makes and removes slices through a real library.
func TestSGPUByLibrary(t *testing.T) {
	node, tree := simtest.Host(t, "c500-8-sgpu")
	kept := node.GPUs[2].Slices
	root := simtest.Write(t, sim.WithSMI(tree, node, standin.SMI(t))).Dir()
	for k := range kept { // what only the library knows
		node.GPUs[5].Slices[k].MemoryMiB = node.GPUs[5].MemoryMiB / 2
	}
	node.GPUs[5].UUID = "" // it has none for a GPU with virtual functions
	lib := filepath.Join(root, "opt/mxdriver/lib/libmxsml.so")
	if err := os.Remove(lib); err != nil {
		t.Fatal(err)
	}
	standin.Build(t, filepath.Dir(lib), node)
	t.Setenv(child.LibraryVariable, standin.Program(t, t.TempDir()))
	library := child.Library()

	var listed struct{ Items []sliceRow }
	out, errs, code := sliced(t, library, root, "list", "-o", "json")
	if err := json.Unmarshal([]byte(out), &listed); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, errs)
	}
	want := []sliceRow{rowOf(node.GPUs[2], kept[0]), rowOf(node.GPUs[2], kept[1]), rowOf(node.GPUs[5], node.GPUs[5].Slices[0]), rowOf(node.GPUs[5], node.GPUs[5].Slices[1])}
	if diff := cmp.Diff(want, listed.Items, cmpopts.IgnoreFields(gpu.Slice{}, "UUID")); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}

	var made created
	out, errs, code = sliced(t, library, root, "create", "2", "--compute", "20", "--vram", "2G", "--alias", "x", "--count", "2", "-o", "json")
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, errs)
	}
	if len(made.Slices) != 2 || made.GPU != 2 || made.Enabled {
		t.Fatalf("made %+v", made)
	}
	for k, s := range made.Slices {
		if s.Index != 2+k || s.UUID == "" || s.ComputePercent != 20 || s.MemoryMiB != 2048 || s.Alias != "x" || s.QoS != gpu.QoSBestEffort {
			t.Errorf("made %+v", s)
		}
	}
	if text, err := os.ReadFile(lib + ".txt"); err != nil || strings.Count(string(text), " x 20 2048") != 2 {
		t.Errorf("%v, the library has:\n%s", err, text)
	}

	// What the library refuses is said, and is not tried with mx-smi.
	standin.Tell(t, lib, node, "code mxSmlCreateSgpu 23")
	_, errs, code = sliced(t, library, root, "create", "2", "--compute", "20", "--vram", "2G")
	if code != exitFailed || !strings.Contains(errs, "mxSmlCreateSgpu failed: BusyDevice (23)") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	standin.Tell(t, lib, node)
	_, errs, code = sliced(t, library, root, "remove", kept[0].UUID, "--force")
	if text, err := os.ReadFile(lib + ".txt"); code != 0 || err != nil || strings.Contains(string(text), kept[0].UUID) || !strings.Contains(string(text), kept[1].UUID) {
		t.Errorf("exit code %d: %s; %v, the library has:\n%s", code, errs, err, text)
	}

	// No libmxsml: mx-smi, which changes the tree.
	testfile.Write(t, lib, "no library", 0o755)
	out, errs, code = sliced(t, library, root, "create", "2", "--compute", "20", "--vram", "2G", "--alias", "y")
	if code != 0 || !strings.Contains(out, " y ") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if text, err := os.ReadFile(filepath.Join(root, "sys/bus/pci/devices", node.GPUs[2].BDF.String(), "sgpu/sgpu2/alias")); err != nil || string(text) != "y\n" {
		t.Errorf("alias %q, %v", text, err)
	}
}

// TestSGPUToolLies has an mx-smi that says that it did what it did not do.
func TestSGPUToolLies(t *testing.T) {
	root := filepath.Join(t.TempDir(), "node")
	output(t, "sim", "create", "c500-8-sgpu", root)
	writeState(t, root, newState(t))
	var calls []string
	lie := func(_ context.Context, _ string, args ...string) ([]byte, error) {
		if args[0] != "sgpu" {
			return nil, errors.New("not now")
		}
		calls = append(calls, strings.Join(args, " "))
		return nil, nil
	}
	for _, tc := range []struct {
		args        []string
		calls, says string
	}{
		{
			[]string{"create", "2", "--compute", "5", "--vram", "1152M", "--alias", "a-b"},
			"sgpu -i 0000:10:00.0 --create --vram 1152M --compute 5 --alias a-b", "sgpu shows none",
		},
		{
			[]string{"remove", "--force", must(t, "c500-8-sgpu").GPUs[2].Slices[1].UUID},
			"sgpu -i 0000:10:00.0 --remove 1", "still shows it",
		},
		{
			[]string{"create", "0", "--enable", "--qos", "burst-share", "--compute", "5", "--vram", "2G"},
			"sgpu -i 0000:0e:00.0 --enable\nsgpu -i 0000:0e:00.0 --set-sched-class 2\nsgpu -i 0000:0e:00.0 --create --vram 2G --compute 5", "sgpu shows none",
		},
	} {
		calls = nil
		var out, errs bytes.Buffer
		code := runCommandLine(context.Background(), append([]string{"metax-ctk", "--root", root, "sgpu"}, tc.args...), deps{Out: &out, Err: &errs, Run: lie})
		if code != exitFailed || !strings.Contains(errs.String(), tc.says) || out.Len() > 0 {
			t.Errorf("%v: exit code %d, %s%s", tc.args, code, &out, &errs)
		}
		if diff := cmp.Diff(tc.calls, strings.Join(calls, "\n")); diff != "" {
			t.Errorf("%v: calls (-want +got):\n%s", tc.args, diff)
		}
	}
}

func must(t *testing.T, name string) gpu.Node {
	t.Helper()
	n := simtest.Node(t, name)
	return n
}
