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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
)

// The commands see a node through libmxsml as through mx-smi.
func TestLibrary(t *testing.T) {
	n, tree := simtest.Host(t, "c500-8-degraded")
	root := simtest.Write(t, sim.WithSMI(tree, n, standin.SMI(t))).Dir()
	lib := standin.Build(t, filepath.Join(root, "opt/mxdriver/lib"), n)
	t.Setenv(child.LibraryVariable, standin.Program(t, t.TempDir()))
	discovered := func() (gpu.Node, string) {
		var out, said bytes.Buffer
		fail := func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("exit status 1") }
		code := runCommandLine(t.Context(), []string{"metax-ctk", "--root", root, "device", "list", "-o", "json"},
			deps{In: strings.NewReader(""), Out: &out, Err: &said, Library: child.Library(), Run: fail})
		var got gpu.Node
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v: %s", code, err, said.String())
		}
		return got, said.String()
	}
	got, said := discovered()
	const ill = `metax-ctk: warning: GPU 0000:37:00.0 is unhealthy: the driver reports "simulated" (code 1)` + "\n"
	if len(got.GPUs) != 8 || got.GPUs[0].Serial != n.GPUs[0].Serial || said != ill {
		t.Errorf("got %+v, said %s", got.GPUs, said)
	}
	standin.Tell(t, lib, n, "crash mxSmlInit 0")
	if _, said = discovered(); !strings.Contains(said, "libmxsml gives no answer: query "+lib+": it crashed: ") {
		t.Errorf("said %s", said)
	}
	t.Setenv(child.LibraryVariable, "off")
	if _, said = discovered(); strings.Contains(said, "libmxsml") {
		t.Errorf("it was asked: %s", said)
	}
}

// A library that never comes back is ended with its program.
func TestLibraryHangs(t *testing.T) {
	n, err := sim.Node("c500-1")
	if err != nil {
		t.Fatal(err)
	}
	lib := standin.Build(t, t.TempDir(), n, "hang mxSmlInit 0")
	t.Setenv(child.LibraryVariable, standin.Program(t, t.TempDir()))
	_, err = mxsml.Reader{Run: child.Library(), Path: lib, Timeout: time.Second}.Read(t.Context())
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, p := range processes {
		if line, err := os.ReadFile(p); err == nil && bytes.Contains(line, []byte(lib)) {
			left = append(left, string(line))
		}
	}
	if diff := cmp.Diff([]string(nil), left); diff != "" {
		t.Error(diff)
	}
}
