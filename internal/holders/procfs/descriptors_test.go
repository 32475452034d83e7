// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

var _ lease.Progressing = procfs.Source{}

// Opening a node with O_PATH takes no right and does not count as use. Flags that cannot be
// read may be those of a use.
func TestPathOnly(t *testing.T) {
	for flags, counts := range map[string]bool{
		"": true, // no such file
		"pos:\t0\nflags:\t012100000\nmnt_id:\t9\n": false,
		"flags:\t010000000\n":                      false,
		"pos:\t0\nflags:\t0100002\n":               true,
		"flags:\n":                                 true,
		"flags:\t9\n":                              true,
		"pos:\t010000000\n":                        true,
	} {
		dir := tree(t, fake{pid: 20, command: "some", open: []string{"/dev/zero"}, flags0: flags})
		got, err := look(t, procfs.New(dir, -1), "processes", real(t), usage.Question{})
		if err != nil || (len(got.Processes) == 1) != counts {
			t.Errorf("flags %q: %v, %v; want that it counts: %v", flags, got.Processes, err, counts)
		}
	}
}

// budget is a context that ends once it has been asked so many times.
type budget struct {
	context.Context
	left int
}

func (b *budget) Err() error {
	if b.left--; b.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// A process with many descriptors hides neither those with few nor the containers of engines
// without a daemon, and what it has itself is found in time or reported as not finished.
func TestManyDescriptors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	many := slices.Repeat([]string{"/dev/null"}, 2000) // more than one call lists
	many[1999] = "/dev/full"
	dir := tree(
		t,
		fake{pid: 20, command: "proxy", open: many},
		conmon(30, idA, "/none", "--full-attach"),
		fake{pid: 40, command: "train", open: []string{"/dev/zero"}},
	)
	q := usage.Question{Seen: map[string]usage.Facts{idA: {Name: "a"}}}
	train := usage.Process{PID: 40, Command: "train", GPUs: []gpu.BDF{gpu0}}
	proxy := usage.Process{PID: 20, Command: "proxy", GPUs: []gpu.BDF{gpu1}}
	for name, test := range map[string]struct {
		asks int
		want []usage.Process
		why  string
	}{
		"all":          {1 << 20, []usage.Process{proxy, train}, ""},
		"first turn":   {560, []usage.Process{train}, "process 20 (proxy) has over 512 files open"},
		"not a single": {20, nil, "there are 4 processes"},
		"not the list": {2, nil, "there are 4 processes"},
	} {
		t.Run(name, func(t *testing.T) {
			p := procfs.New(dir, -1)
			self, err := p.Self()
			if err != nil {
				t.Fatal(err)
			}
			q.Recorded = []usage.Client{{PID: proxy.PID, Start: 100, PIDNamespace: self.PIDNamespace}}
			sources := p.Sources(real(t))
			sight, err := sources[0].Look(&budget{t.Context(), test.asks}, q)
			if test.why == "" && err != nil || test.why != "" && (!errors.Is(err, usage.ErrUnfinished) || !strings.HasSuffix(err.Error(), ": "+test.why)) {
				t.Errorf("error is %v, want %q", err, test.why)
			}
			if read := len(sight.Read) == 1; read != (test.why == "") {
				t.Errorf("it says that it read %v", sight.Read)
			}
			got := timeless(t, sight.Processes)
			if err != nil { // in which order a made-up process shows its files is not known
				got = slices.DeleteFunc(got, func(p usage.Process) bool { return p.PID == proxy.PID })
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			sight, err = sources[1].Look(t.Context(), q)
			if listed := name != "not the list"; listed != (err == nil && len(sight.Containers) == 1) {
				t.Errorf("Podman's containers: %+v, %v", sight.Containers, err)
			}
			if name != "not the list" && sources[0].Progress() == 0 {
				t.Error("it does not report its progress")
			}
		})
	}
}
