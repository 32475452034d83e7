// SPDX-License-Identifier: Apache-2.0

package ps

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

var (
	bdf0, bdf1, bdf2 = gpu.BDF{Bus: 0x0e}, gpu.BDF{Bus: 0x0f}, gpu.BDF{Bus: 0x10}
	lost             = gpu.BDF{Bus: 0xff} // not on the node
	day              = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	long             = strings.Repeat("1", 64)
)

func node() gpu.Node {
	n := gpu.NewNode("test")
	for i, bdf := range []gpu.BDF{bdf0, bdf1, bdf2} {
		n.GPUs = append(n.GPUs, gpu.GPU{Index: i, BDF: bdf, Healthy: i != 2})
	}
	return n
}

func TestDescribe(t *testing.T) {
	uid := uint32(4242)
	trained := usage.Lease{
		ID: "aaaaaaaaaaaa", GPUs: []gpu.BDF{bdf0, bdf1, lost}, Engine: "docker", Endpoint: "/d.sock", Verb: "run",
		Client: usage.Client{PID: 7}, User: &usage.User{UID: uid, Name: "alice"}, Since: day, Container: long, Bound: true,
	}
	trainer := usage.Container{Engine: "docker", ID: long, State: usage.Running, Facts: usage.Facts{
		Name: "trainer", Image: "train", Lease: trained.ID, GPUs: []gpu.BDF{bdf0, bdf1}, Created: day,
	}}
	twin := trainer
	twin.Engine, twin.Namespace, twin.Name = "containerd", "moby", ""
	idle := usage.Container{Engine: "containerd", Namespace: "k8s.io", ID: "idle", Facts: usage.Facts{Name: "idle"}}
	exited := usage.Container{Engine: "containerd", Namespace: "k8s.io", ID: "old", State: usage.Exited, Facts: usage.Facts{GPUs: []gpu.BDF{bdf2}}}
	late := usage.Container{Engine: "containerd", Namespace: "k8s.io", ID: "late", State: usage.Created, Facts: usage.Facts{Lease: "bbbbbbbbbbbb", Privileged: true}}
	process := usage.Process{PID: 99, UID: uid, Command: "python3", Container: long, GPUs: []gpu.BDF{bdf1, bdf2}}
	report := lease.Report{
		State: lease.State{Lost: "it is damaged", Queue: []lease.Ticket{
			{ID: "eeeeeeeeeeee", Count: 4, Client: usage.Client{PID: 8}, User: &usage.User{UID: uid}, Since: day, Marked: time.Hour},
			{ID: "dddddddddddd", Count: 1, GPUs: []gpu.BDF{bdf1}, Since: day, Marked: time.Minute},
			{ID: "cccccccccccc", Count: 1, Since: day, Marked: time.Hour, Ended: &usage.User{Name: "ann"}},
		}},
		Uptime: time.Hour + time.Second, Now: day.Add(90*time.Second + 1),
		Holders: []usage.Holder{
			{GPUs: []gpu.BDF{bdf0, bdf1, bdf2, lost}, Lease: &trained, Container: &trainer, Processes: []usage.Process{process}},
			{GPUs: []gpu.BDF{bdf2}, Processes: []usage.Process{{PID: 5, UID: uid, Command: "sh", GPUs: []gpu.BDF{bdf2}}}},
		},
		Looks: []lease.Look{
			{Engine: "docker", Endpoint: "/d.sock", Sight: usage.Sight{Containers: []usage.Container{trainer}}},
			{Engine: "containerd", Endpoint: "/c.sock", Sight: usage.Sight{Containers: []usage.Container{twin, idle, exited, late}}},
		},
	}

	l := Lease{
		ID: trained.ID, GPUs: []int{0, 1}, BDFs: trained.GPUs, State: "running", Verb: "run", Engine: "docker", Endpoint: "/d.sock",
		Container: long, PID: 7, UID: &uid, User: "alice", Since: day,
	}
	c := Container{
		Engine: "docker", ID: long, Name: "trainer", Image: "train", Lease: trained.ID, GPUs: []int{0, 1},
		State: usage.Running, Created: day,
	}
	holder := func(processes []Process, sources ...string) Holder {
		return Holder{State: "running", Sources: sources, Lease: &l, Container: &c, Processes: processes, User: "alice", Since: day}
	}
	python := []Process{{99, "python3", "4242"}}
	want := Occupancy{
		APIVersion: "metax-ctk/v1", Kind: "Occupancy", Lost: "it is damaged", Summary: Summary{GPUs: 3, InUse: 3},
		GPUs: []GPU{
			{Index: 0, BDF: bdf0, Healthy: true, Holders: []Holder{holder([]Process{}, "lease", "container")}},
			{Index: 1, BDF: bdf1, Healthy: true, Holders: []Holder{holder(python, "lease", "container", "process")}},
			{Index: 2, BDF: bdf2, Holders: []Holder{
				holder(python, "process"), // it took more than it was given
				{State: "open", Sources: []string{"process"}, Processes: []Process{{5, "sh", "4242"}}, User: "4242"},
			}},
		},
		Containers: []Container{
			c,
			{Engine: "containerd", Namespace: "k8s.io", ID: "late", Lease: "bbbbbbbbbbbb", GPUs: []int{}, Privileged: true, State: usage.Created},
			{Engine: "containerd", Namespace: "k8s.io", ID: "old", GPUs: []int{2}, State: usage.Exited},
		},
		Queue: []Waiting{
			{ID: "eeeeeeeeeeee", Count: 4, GPUs: []int{}, State: InLine, Position: 1, PID: 8, User: "4242", Since: day, WaitedSeconds: 90},
			{ID: "dddddddddddd", Count: 1, GPUs: []int{1}, State: Silent, Since: day, WaitedSeconds: 90},
			{ID: "cccccccccccc", Count: 1, GPUs: []int{}, State: Ended, Since: day, WaitedSeconds: 90, EndedBy: "ann"},
		},
		Sources: []Source{
			{Engine: "containerd", Endpoint: "/c.sock", Status: OK},
			{Engine: "docker", Endpoint: "/d.sock", Status: OK},
		},
	}
	got := Describe(node(), report, nil)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}

	// What is read back from it are the facts that were put in.
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var back Occupancy
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	for _, c := range []usage.Container{trainer, exited, late} {
		if d := cmp.Diff(c.Facts, back.Facts(c.Key())); d != "" {
			t.Errorf("%s: %s", c.Key(), d)
		}
	}
	if d := cmp.Diff(usage.Facts{}, back.Facts(idle.Key())); d != "" {
		t.Error(d)
	}
}

// TestUserUnknown: a GPU with load that nobody is known to use is not free.
func TestUserUnknown(t *testing.T) {
	load, idle := 3, 0
	slices := gpu.BDF{Bus: 0x11}
	n := node()
	n.GPUs = append(n.GPUs, gpu.GPU{Index: 3, BDF: slices, Healthy: true, Mode: gpu.ModeSGPU})
	readings := []gpu.Reading{
		{BDF: bdf0, UtilizationPercent: &load},
		{BDF: bdf1, UtilizationPercent: &idle},
		{BDF: bdf2, UtilizationPercent: &load}, // unhealthy
		{BDF: slices, UtilizationPercent: &load},
		{BDF: lost, UtilizationPercent: &load},
	}
	got := Describe(n, lease.Report{}, readings)
	if d := cmp.Diff(Summary{GPUs: 4, Free: 1, UserUnknown: 1}, got.Summary); d != "" {
		t.Error(d)
	}
	for i, g := range got.GPUs {
		if g.UserUnknown != (i == 0) {
			t.Errorf("GPU %d: %+v", i, g)
		}
	}
	// With a user, the load is explained.
	got = Describe(n, lease.Report{Holders: []usage.Holder{{GPUs: []gpu.BDF{bdf0}, Lease: &usage.Lease{}}}}, readings)
	if d := cmp.Diff(Summary{GPUs: 4, Free: 1, InUse: 1}, got.Summary); d != "" || got.GPUs[0].UserUnknown {
		t.Errorf("%+v, %s", got.GPUs[0], d)
	}
}

// TestPrivileged: a container that requested no GPU is a source for the GPUs of its
// lease.
func TestPrivileged(t *testing.T) {
	for _, tc := range []struct {
		name   string
		holder usage.Holder
		want   string
	}{
		{"its lease", usage.Holder{Lease: &usage.Lease{GPUs: []gpu.BDF{bdf0}}, Container: &usage.Container{Facts: usage.Facts{Privileged: true}}}, "lease+container"},
		{"another GPU", usage.Holder{Lease: &usage.Lease{GPUs: []gpu.BDF{bdf1}}, Container: &usage.Container{Facts: usage.Facts{Privileged: true}}}, ""},
		{"without privilege", usage.Holder{Lease: &usage.Lease{GPUs: []gpu.BDF{bdf0}}, Container: &usage.Container{}}, "lease"},
	} {
		tc.holder.GPUs = []gpu.BDF{bdf0}
		got := Describe(node(), lease.Report{Holders: []usage.Holder{tc.holder}}, nil)
		if have := strings.Join(got.GPUs[0].Holders[0].Sources, "+"); have != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, have, tc.want)
		}
	}
}

func TestDescribeLeases(t *testing.T) {
	made := func(id string) usage.Lease { return usage.Lease{ID: id, GPUs: []gpu.BDF{bdf0}} }
	a, b := made("aaaaaaaaaaaa"), made("bbbbbbbbbbbb")
	got := DescribeLeases(node(), lease.Report{
		Holders: []usage.Holder{{Lease: &b, Container: &usage.Container{ID: "c", Facts: usage.Facts{Name: "n"}, State: usage.Created}}, {Processes: []usage.Process{{}}}},
		Closed:  []lease.Closed{{Lease: a, Why: "its container is gone"}},
	})
	want := []Lease{
		{ID: a.ID, GPUs: []int{0}, BDFs: a.GPUs, State: "over", Why: "its container is gone"},
		{ID: b.ID, GPUs: []int{0}, BDFs: b.GPUs, State: "created", Container: "c", Name: "n"},
	}
	if d := cmp.Diff(want, got.Leases); d != "" {
		t.Error(d)
	}
	// GPU 2 is unhealthy, GPU 0 in use. A clock that was set back gives no negative time.
	got = DescribeLeases(node(), lease.Report{
		Uptime: time.Hour, Now: day, Holders: []usage.Holder{{GPUs: []gpu.BDF{bdf0}, Lease: &b}},
		State: lease.State{Queue: []lease.Ticket{
			{ID: "silent", Since: day.Add(time.Minute)}, {ID: "first", Marked: time.Hour, Since: day}, {ID: "second", Marked: time.Hour, Since: day},
		}},
	})
	if d := cmp.Diff(Summary{GPUs: 3, Free: 1, InUse: 1}, got.Summary); d != "" {
		t.Error(d)
	}
	var places []int
	for _, w := range got.Queue {
		places = append(places, w.Position)
		if w.WaitedSeconds != 0 {
			t.Errorf("%s has waited %d s", w.ID, w.WaitedSeconds)
		}
	}
	if d := cmp.Diff([]int{0, 1, 2}, places); d != "" {
		t.Error(d)
	}
	if text, err := json.Marshal(DescribeLeases(node(), lease.Report{})); err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestSources(t *testing.T) {
	some := usage.Sight{Containers: []usage.Container{{}}}
	failure := errors.New("first\nsecond")
	for _, tc := range []struct {
		name string
		look lease.Look
		want Source
	}{
		{"all", lease.Look{Engine: "docker", Sight: some}, Source{Status: OK}},
		{"not there", lease.Look{Engine: "docker", Err: fmt.Errorf("no docker: %w", usage.ErrAbsent)}, Source{Status: Absent, Message: "no docker: not on this machine"}},
		{"nothing", lease.Look{Engine: "docker", Sight: usage.Sight{Partial: true}, Err: failure}, Source{Status: Failed, Message: "first; second"}},
		{"some", lease.Look{Engine: "docker", Sight: some, Err: failure}, Source{Status: Partial, Message: "first; second"}},
		{"some, without a reason", lease.Look{Engine: "docker", Sight: usage.Sight{Partial: true}}, Source{Status: Partial}},
		{"our own processes", lease.Look{Engine: "processes", Err: failure}, Source{Status: Partial, Message: "first; second"}},
	} {
		tc.want.Engine = tc.look.Engine
		if d := cmp.Diff([]Source{tc.want}, Sources([]lease.Look{tc.look})); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
}
