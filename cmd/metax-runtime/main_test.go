// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/metax-ctk/container-toolkit/test/faults"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/scripts"
	"github.com/metax-ctk/container-toolkit/test/trusted"
)

// configVariable tells the program under test where its configuration file is;
// the program itself has one place only.
const configVariable = "RUNTIME_TEST_CONFIG"

func TestMain(m *testing.M) {
	os.Setenv("GORACE", noSleep)
	testscript.Main(m, map[string]func(){
		"metax-runtime": func() { os.Exit(execRuntime(tested())) },
		// traced waits for its tracer before it begins.
		"traced": func() {
			d := tested()
			_ = faults.Traced(func() error { os.Exit(execRuntime(d)); return nil })
		},
		// crowded and frozen have a bundle without space, or that is read-only, in a
		// mount namespace of their own, and end with a list of what is in it.
		"crowded": func() { within(crowd) },
		"frozen":  func() { within(freeze) },
	})
}

// noSleep is for the race detector, which would have every child sleep for a second before it
// ends.
const noSleep = "atexit_sleep_ms=0"

func tested() deps {
	d := processDeps()
	d.Config = os.Getenv(configVariable)
	d.Now = func() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 7, time.FixedZone("", 3600)) }
	return d
}

// stub is a low-level runtime that tells how it was called and which devices the
// bundle had then.
const stub = `#!/bin/sh
printf 'low-level runtime:'
for word in "$0" "$@"; do printf ' [%s]' "$word"; done
echo
[ -z "$STUB_ENV" ] || env
[ -z "$STUB_PID" ] || echo "pid $$"
[ -z "$STUB_ERROR" ] || echo "$STUB_ERROR" >&2
exit ${STUB_EXIT:-0}
`

// The CDI specs of the tests; their device nodes are those that every machine has, under the
// names of a GPU's.
const (
	gpuSpec = `{"cdiVersion": "0.6.0", "kind": "metax-tech.com/gpu", "devices": [` +
		`{"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/dri/renderD128", "hostPath": "/dev/null"}]}},` +
		`{"name": "1", "containerEdits": {"deviceNodes": [{"path": "/dev/dri/renderD129", "hostPath": "/dev/zero"}]}},` +
		`{"name": "GPU-3fd4ee8f", "containerEdits": {"deviceNodes": [{"path": "/dev/dri/renderD128", "hostPath": "/dev/null"}]}},` +
		`{"name": "0000:0e:00.0", "containerEdits": {"deviceNodes": [{"path": "/dev/dri/renderD128", "hostPath": "/dev/null"}]}},` +
		`{"name": "lost", "containerEdits": {"deviceNodes": [{"path": "/dev/dri/renderD130", "hostPath": "/dev/metax-is-not-here"}]}},` +
		`{"name": "all", "containerEdits": {"deviceNodes": [{"path": "/dev/dri/renderD128", "hostPath": "/dev/null"}, {"path": "/dev/dri/renderD129", "hostPath": "/dev/zero"}]}}` +
		`], "containerEdits": {"deviceNodes": [{"path": "/dev/mxcd", "hostPath": "/dev/full"}], "env": ["METAX=1"]}}`
	macaSpec = `{"cdiVersion": "0.6.0", "kind": "metax-tech.com/maca", "devices": [` +
		`{"name": "host", "containerEdits": {"mounts": [{"hostPath": "/etc", "containerPath": "/opt/maca", "options": ["ro", "bind"]}]}}]}`
)

// writeHost writes bin/runc, the specs and a configuration file into a directory.
func writeHost(dir, more string) error {
	text := fmt.Sprintf("[runtime]\nruntimes = [%q]\nspec-dirs = [%q]\n%s", dir+"/bin/runc", dir+"/cdi", more)
	for path, file := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"bin/runc": {stub, 0o755}, "config.toml": {text, 0o644},
		"cdi/gpu.json": {gpuSpec, 0o644}, "cdi/maca.json": {macaSpec, 0o644},
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(file.text), file.mode); err != nil {
			return err
		}
	}
	return nil
}

// TestScripts runs the program with a low-level runtime that prints how it was called;
// test/e2e checks what runc and crun do with such bundles.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		WorkdirRoot:         trusted.Dir(t),
		UpdateScripts:       *golden.Update,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scripts.Exits, "devices": devices,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv(configVariable, e.WorkDir+"/config.toml")
			e.Setenv("GORACE", noSleep)
			return writeHost(e.WorkDir, "")
		},
	})
}

// devices demands the paths of the device nodes in a configuration, in any order: devices FILE
// PATH...
func devices(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: devices FILE PATH...")
	}
	got, err := devicesOf([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	want := slices.Sorted(slices.Values(args[1:]))
	if !slices.Equal(got, want) {
		ts.Fatalf("%s has the devices %q, want %q", args[0], got, want)
	}
}

// devicesOf returns the paths of the device nodes in a configuration, sorted.
func devicesOf(text []byte) ([]string, error) {
	var c struct {
		Linux struct{ Devices []struct{ Path string } }
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%w in %s", err, strings.TrimSpace(string(text)))
	}
	var paths []string
	for _, d := range c.Linux.Devices {
		paths = append(paths, d.Path)
	}
	slices.Sort(paths)
	return paths, nil
}
