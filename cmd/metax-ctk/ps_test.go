// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestOccupancyJSON decodes what ps prints as metax-docker does.
func TestOccupancyJSON(t *testing.T) {
	root := filepath.Join(t.TempDir(), "node")
	output(t, "sim", "create", "c500-8", root)
	end, err := hold(filepath.Join(root, "dev/dri/renderD129"))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	// Without a state file, clients of other tests would count, too.
	boot, err := procfs.New("/proc", -1).BootID()
	if err != nil {
		t.Fatal(err)
	}
	output(t, "--root", root, "lease", "init")
	state, err := json.Marshal(lease.NewState(boot))
	if err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, filepath.Join(root, assign.Dir, "leases.json"), state, 0o600)
	text := output(t, "--root", root, "ps", "-o", "json")
	for i := 0; i < maxAttempts && late(text); i++ {
		text = output(t, "--root", root, "ps", "-o", "json")
	}
	if strings.Contains(text, "null") {
		t.Errorf("a null:\n%s", text)
	}
	var got ps.Occupancy
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	want := []ps.Holder{{
		State: "open", Sources: []string{usage.FromProcess}, User: me.Username,
		Processes: []ps.Process{{Command: "sleep", User: me.Username}},
	}}
	if d := cmp.Diff(want, got.GPUs[1].Holders, cmpopts.IgnoreFields(ps.Process{}, "PID")); d != "" {
		t.Error(d)
	}
	for i, g := range got.GPUs {
		if i != g.Index || !g.Healthy || i != 1 && len(g.Holders) > 0 {
			t.Errorf("GPU %d: %+v", i, g)
		}
	}
	var engines []string
	for _, s := range got.Sources {
		engines = append(engines, s.Engine)
	}
	if d := cmp.Diff([]string{"containerd", "cri-o", "docker", "kubernetes", "podman", "processes"}, slices.Compact(engines)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{lease.APIVersion, ps.OccupancyKind}, []string{got.APIVersion, got.Kind}); d != "" {
		t.Error(d)
	}
}

// rounds ends a watch after so many writes.
type rounds struct {
	text   bytes.Buffer
	left   int
	cancel func()
}

func (r *rounds) Write(p []byte) (int, error) {
	if r.left--; r.left == 0 {
		r.cancel()
	}
	return r.text.Write(p)
}

func TestWatch(t *testing.T) {
	for _, tc := range []struct {
		format string
		writes int // until the end of the second round
		sep    string
	}{{"json", 4, "\n"}, {"yaml", 4, "---\n"}} {
		ctx, cancel := context.WithCancel(t.Context())
		out := rounds{left: tc.writes, cancel: cancel}
		var errs bytes.Buffer
		args := []string{"metax-ctk", "--node", "c500-1", "ps", "--watch", "--interval", "100ms", "-o", tc.format}
		if code := runCommandLine(ctx, args, deps{Out: &out, Err: &errs}); code != exitInterrupted || errs.Len() > 0 {
			t.Errorf("%s: exit code %d: %s", tc.format, code, &errs)
		}
		docs := slices.DeleteFunc(strings.Split(out.text.String(), tc.sep), func(s string) bool { return s == "" })
		if len(docs) != 2 || docs[0] != docs[1] || !strings.Contains(docs[0], ps.OccupancyKind) {
			t.Errorf("%s: got %q", tc.format, docs)
		}
	}
}

func TestBetween(t *testing.T) {
	for _, tc := range []struct {
		format   string
		round    int
		terminal bool
		want     string
	}{
		{"table", 0, true, "\x1b[H\x1b[2J"},
		{"table", 1, true, "\x1b[H\x1b[2J"},
		{"table", 0, false, ""},
		{"table", 1, false, "\n"},
		{"json", 1, true, ""},
		{"yaml", 0, true, "---\n"},
	} {
		if got := string(between(tc.format, tc.round, tc.terminal)); got != tc.want {
			t.Errorf("%+v: got %q", tc, got)
		}
	}
}

func TestPsTable(t *testing.T) {
	o := ps.Occupancy{
		Summary: ps.Summary{GPUs: 4, InUse: 2, UserUnknown: 1},
		Queue: []ps.Waiting{
			{ID: "eeeeeeeeeeee", Count: 4, State: ps.InLine, Position: 1, PID: 8, User: "bob", WaitedSeconds: 3725},
			{ID: "ffffffffffff", GPUs: []int{0, 1}, State: ps.Ended, PID: 9, EndedBy: "ann"},
		},
		GPUs: []ps.GPU{
			{Index: 0, Healthy: true, Holders: []ps.Holder{
				{
					State: "pending", Sources: []string{"lease"}, User: "eve\x1b[2J",
					Lease: &ps.Lease{ID: "aaaaaaaaaaaa", Shared: true, Container: strings.Repeat("5", 64), Engine: "podman"},
				},
				{State: "running", Container: &ps.Container{ID: strings.Repeat("6", 64), Engine: "containerd"}},
			}},
			{Index: 1, Holders: []ps.Holder{
				{State: "open", Sources: []string{"process"}, Processes: []ps.Process{{PID: 7, Command: "a\nb"}}},
			}},
			{Index: 2},
			{Index: 3, Healthy: true, UserUnknown: true},
		},
		Sources: []ps.Source{
			{Engine: "docker", Endpoint: "/a", Status: ps.Absent},
			{Engine: "docker", Endpoint: "/b", Status: ps.OK},
			{Engine: "podman", Status: ps.Absent},
			{Engine: "podman", Status: ps.Absent},
			{Engine: "processes", Status: ps.Partial, Message: "some"},
			{Engine: "containerd", Endpoint: "/c", Status: ps.Failed, Message: "no answer"},
		},
	}
	const want = `GPU  STATE            HOLDER                  CONTAINER     ENGINE      USER     SINCE  SOURCE
0    pending, shared  lease aaaaaaaaaaaa      555555555555  podman      eve�[2J  -      lease
0    running          container 666666666666  666666666666  containerd  -        -      -
1    open, unhealthy  process 7 (a�b)         -             -           -        -      process
2    unhealthy        -                       -             -           -        -      -
3    user not known   -                       -             -           -        -      -

0 of 4 GPUs are free; 1 has load and no known user; 1 is unhealthy or divided into slices
GPU 1 is unhealthy (metax-ctk health) and still in use by process 7 (a�b)

POSITION  REQUEST       GPUS   STATE         PROCESS  USER  SINCE  WAITED
1         eeeeeeeeeeee  any 4  waiting       8        bob   -      1h2m5s
-         ffffffffffff  0,1    ended by ann  9        -     -      0s

not on this machine: podman; incomplete: processes: some; no answer: containerd at /c: no answer
`
	if d := cmp.Diff(want, terminal.Table(psRows(o))+toolkit{}.psBelow(o)); d != "" {
		t.Error(d)
	}
}

func TestClock(t *testing.T) {
	if got := formatTime(time.Time{}); got != "" {
		t.Errorf("no time: %q", got)
	}
}

// TestContainerds asks each containerd that a lease names, once, and at least one.
func TestContainerds(t *testing.T) {
	proc := procfs.New("/proc", -1)
	if len(containerds(proc, holders.Devices{}, lease.State{})) == 0 {
		t.Error("no containerd is asked")
	}
	named := usage.Lease{Engine: "containerd", Endpoint: "/elsewhere/c.sock"}
	other := usage.Lease{Engine: "docker", Endpoint: "/elsewhere/d.sock"}
	asked := map[string]int{}
	for _, s := range containerds(proc, holders.Devices{}, lease.State{Leases: []usage.Lease{named, named, other}}) {
		_, endpoint := s.Name()
		asked[endpoint]++
	}
	if asked[named.Endpoint] != 1 || asked[other.Endpoint] != 0 {
		t.Errorf("asked %v", asked)
	}
}
