// SPDX-License-Identifier: Apache-2.0

package vendorlib_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
	"github.com/metax-ctk/container-toolkit/test/vendorlib"
)

// outcomes are the warnings, or the error, of metax-mxsml by what is wrong with a file:
// "missing smi/showtemp".
type outcomes map[string]string

// TestSpoilt: with each file of the driver missing or spoilt, metax-mxsml neither crashes nor
// hangs, and what is missing has a warning that names the file. Files that never answer end it
// after its time.
func TestSpoilt(t *testing.T) {
	file := filepath.Join("testdata", "spoilt.json")
	var known outcomes
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	if library := os.Getenv(libraryVar); library != "" {
		now := spoil(t, library)
		if *update {
			text, _ := json.MarshalIndent(now, "", " ")
			testfile.Write(t, file, append(text, '\n'), 0o644)
			known = now
		}
		if diff := cmp.Diff(known, now); diff != "" {
			t.Errorf("-recorded +now: %s", diff)
		}
	}
	for what, outcome := range known {
		kind, name, _ := strings.Cut(what, " ")
		switch {
		case strings.Contains(outcome, mxsml.ErrCrashed.Error()):
			t.Errorf("%s: %s", what, outcome)
		case kind == "mute" && outcome != "" && outcome != "no answer in time":
			t.Errorf("%s: %s", what, outcome)
		case kind != "mute" && strings.Contains(outcome, "did not report") && strings.Contains(outcome, "failed") && !strings.Contains(outcome, filepath.Base(name)):
			t.Errorf("%s: the warning does not name the file: %s", what, outcome)
		}
	}
	if len(known) < 100 {
		t.Errorf("only %d cases", len(known))
	}
}

// spoil runs the library over a host with each file of its GPU missing, spoilt and mute.
func spoil(t *testing.T, library string) outcomes {
	_, tree := simtest.Host(t, "c500-1")
	h := vendorlib.Host{Tree: tree, Node: simtest.Node(t, "c500-1")}
	smi := h.Function(0) + "/smi/"
	dir := simtest.Write(t, tree).Dir()
	run, all := overTree(t, dir), outcomes{}
	for _, p := range slices.Sorted(maps.Keys(tree)) {
		name := strings.TrimPrefix(strings.TrimPrefix(p, h.Function(0)+"/"), "sys/devices/virtual/mxcd/mxcd/")
		if !strings.HasPrefix(p, smi) && !strings.HasPrefix(p, vendorlib.Nodes+"2/") {
			continue
		}
		at := filepath.Join(dir, p)
		for kind, spoil := range map[string]func() error{
			"missing": func() error { return nil },
			"spoilt":  func() error { return os.WriteFile(at, []byte("\x00\xff::: %s\n\n-1 99999999999999999999\n"), 0o644) },
			"mute":    func() error { return unix.Mkfifo(at, 0o644) },
		} {
			if err := errors.Join(os.RemoveAll(at), spoil()); err != nil {
				t.Fatal(err)
			}
			all[kind+" "+name] = outcome(t, library, run)
		}
		if err := errors.Join(os.RemoveAll(at), os.WriteFile(at, []byte(tree[p].(sim.File).Data), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// outcome is what metax-mxsml says of the node and its readings.
func outcome(t *testing.T, library string, run mxsml.Run) string {
	t.Helper()
	r := mxsml.Reader{Run: run, Path: library, Timeout: 2 * time.Second}
	a, err := r.Read(t.Context())
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	if err != nil {
		return strings.ReplaceAll(err.Error(), library, "LIBRARY")
	}
	warnings := a.Node().Warnings
	if _, err := r.Readings(t.Context()); errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	} else if err != nil {
		warnings = append(warnings, strings.ReplaceAll(err.Error(), library, "LIBRARY"))
	}
	return strings.Join(warnings, "\n")
}
