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
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// TestSGPUEnable holds when a GPU is switched to slice mode, who has it meanwhile, and that
// nothing is left of that afterwards.
func TestSGPUEnable(t *testing.T) {
	self, err := procfs.New("/proc", -1).Self()
	if err != nil {
		t.Fatal(err)
	}
	gpus := must(t, "c500-8-sgpu").GPUs
	leased := func(of gpu.BDF, shared bool) []usage.Lease {
		return []usage.Lease{{
			ID: "6f1d2c9a04be", Rev: 1, GPUs: []gpu.BDF{of}, Shared: shared, Verb: usage.VerbRun,
			Client: self, User: &usage.User{UID: 7, Name: "ann"},
		}}
	}
	refuses := errors.New("the driver refuses")
	for name, tc := range map[string]struct {
		leases    []usage.Lease
		queue     []lease.Ticket
		switching error // what the switch fails with
		interrupt bool  // while it is switched
		code      int
		says      string
		switched  bool // whether it comes so far
	}{
		"free":               {code: exitFailed, says: "sgpu shows none", switched: true},
		"another is held":    {leases: leased(gpus[1].BDF, false), code: exitFailed, says: "sgpu shows none", switched: true},
		"held":               {leases: leased(gpus[0].BDF, false), code: exitUnmet, says: "GPU 0 is in use by lease 6f1d2c9a04be, of ann (metax-ctk ps)"},
		"shared":             {leases: leased(gpus[0].BDF, true), code: exitUnmet, says: "GPU 0 is in use by lease 6f1d2c9a04be, of ann (metax-ctk ps)"},
		"others wait for it": {queue: []lease.Ticket{{ID: "6f1d2c9a04be", Count: 1, Client: self}}, code: exitUnmet, says: "a request that came earlier waits"},
		"it fails":           {switching: refuses, code: exitFailed, says: "switch GPU 0 to slice mode: the driver refuses", switched: true},
		"it is interrupted":  {switching: context.Canceled, interrupt: true, code: exitInterrupted, switched: true},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "node")
			output(t, "sim", "create", "c500-8-sgpu", root)
			file := filepath.Join(root, assign.Dir, "leases.json")
			before := newState(t)
			before.Leases, before.Queue = append(before.Leases, tc.leases...), tc.queue
			for i := range before.Queue { // they show signs of life
				before.Queue[i].Marked = assign.Proc().Uptime() + 4*time.Second
			}
			writeState(t, root, before)

			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			switched := false
			tool := func(_ context.Context, _ string, args ...string) ([]byte, error) {
				switch {
				case args[0] != "sgpu":
					return nil, errors.New("not now")
				case args[len(args)-1] != "--enable":
					return nil, nil
				}
				switched = true
				var now lease.State
				readState(t, file, &now)
				l := now.Lease(usage.LeaseID(before.Boot, root, self, 0))
				if l == nil || l.Shared || l.Client != self || l.Verb != usage.VerbEnable || !cmp.Equal(l.GPUs, []gpu.BDF{gpus[0].BDF}) {
					t.Errorf("while it is switched the leases are %+v", now.Leases)
				}
				if tc.interrupt {
					interrupt()
				}
				return nil, tc.switching
			}
			var out, errs bytes.Buffer
			words := []string{"metax-ctk", "--root", root, "sgpu", "create", "0", "--enable", "--compute", "5", "--vram", "2G"}
			code := runCommandLine(ctx, words, deps{Out: &out, Err: &errs, Run: tool})
			if code != tc.code || !strings.Contains(errs.String(), tc.says) || switched != tc.switched {
				t.Errorf("exit code %d, switched: %t, says %s", code, switched, &errs)
			}
			var after lease.State
			readState(t, file, &after)
			if diff := cmp.Diff(before.Leases, after.Leases); diff != "" {
				t.Errorf("leases (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(before.Queue, after.Queue, cmpopts.IgnoreFields(lease.Ticket{}, "Until")); diff != "" {
				t.Errorf("queue (-before +after):\n%s", diff)
			}
		})
	}
}

// newState is a state of this boot, without leases.
func newState(t *testing.T) lease.State {
	t.Helper()
	boot, err := procfs.New("/proc", -1).BootID()
	if err != nil {
		t.Fatal(err)
	}
	return lease.NewState(boot)
}

// writeState gives a node its leases. Without a state, those count whom the command
// lines of this machine tell of.
func writeState(t *testing.T, root string, s lease.State) {
	t.Helper()
	output(t, "--root", root, "lease", "init")
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, assign.Dir, "leases.json")
	if err := errors.Join(os.WriteFile(file, text, 0o644), os.Chmod(file, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func readState(t *testing.T, file string, s *lease.State) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		t.Fatal(err)
	}
}
