// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// snapshot is the one of a simulated node that was looked at once.
func snapshot(t testing.TB, name string) Snapshot {
	t.Helper()
	n := simtest.Node(t, name)
	state, _ := health.State{}.Next(health.FromNode(n), health.DefaultRules)
	return Snapshot{
		Node: n, Health: state, LookAt: time.Unix(1_700_000_000, 500_000_000), Readings: sim.Readings(n, 0),
		Sources: map[string]bool{FromReader: true, FromKubelet: true, FromLeases: true},
	}
}

// text is what Prometheus gets, without the vendor's names.
func text(t testing.TB, s Snapshot) string {
	t.Helper()
	return textFor(t, s, "")
}

// textFor is what Prometheus gets of the node with the name.
func textFor(t testing.TB, s Snapshot, hostname string) string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(Collector{Take: func() Snapshot { return s }, Hostname: hostname})
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// The states of which there is a golden file each.
func snapshots(t testing.TB) map[string]Snapshot {
	inUse := snapshot(t, "c500-4-degraded")
	uuid := func(i int) string { return string(inUse.Node.GPUs[i].UUID) }
	inUse.Users = UsersOf(inUse.Node, []podresources.Container{
		{Namespace: "team-a", Pod: "train-0", Name: "main", Devices: map[string][]string{"metax-tech.com/gpu": {uuid(0), uuid(1)}}},
		{Namespace: "team-b", Pod: "vf", Name: "main", Devices: map[string][]string{"metax-tech.com/gpu": {uuid(2) + "-vf0", uuid(2) + "-vf1"}}},
		{Namespace: "team-c", Pod: "vf", Name: "main", Devices: map[string][]string{"metax-tech.com/gpu": {uuid(2) + "-vf2"}, "example.com/nic": {"eth0"}}},
	}, nil, []usage.Lease{{ID: "0123456789ab", GPUs: []gpu.BDF{inUse.Node.GPUs[3].BDF}}})

	// A GPU is unhealthy, another is gone, and then the reader does not answer.
	broken := snapshot(t, "c500-4-degraded")
	look := health.FromNode(broken.Node)
	look.Readings[1].Problems = []health.Problem{{Code: "vendor-7", Text: "it is hot"}}
	look.Readings = look.Readings[:3]
	look.Failed = "mx-smi does not answer"
	broken.Node.GPUs = broken.Node.GPUs[:3]
	broken.Node.Links = nil
	broken.Node.Warnings = []string{mxsmi.LinksUnknown}
	broken.Readings = nil
	broken.Sources[FromReader] = false
	broken.Health, _ = broken.Health.Next(look, health.DefaultRules)
	look.Failed = ""
	broken.Health, _ = broken.Health.Next(look, health.DefaultRules)

	// Two slices are one pod's, and one nobody's; the GPU has every kind of counter.
	sliced := snapshot(t, "c500-1")
	g := &sliced.Node.GPUs[0]
	g.Mode = gpu.ModeSGPU
	for i := range 3 {
		g.Slices = append(g.Slices, gpu.Slice{Kind: gpu.SliceSGPU, Index: i, UUID: fmt.Sprintf("SGPU-%d", i), ComputePercent: 10 * (i + 1), MemoryMiB: 1024})
	}
	sliced.Readings = sim.Readings(sliced.Node, 0)
	sliced.Readings[0].Counters = append(sliced.Readings[0].Counters, []gpu.Counter{
		{Kind: gpu.OpticalC, Name: "0", Value: 51.5},
		{Kind: gpu.CountRAS, Type: gpu.Corrected, Name: "MC reg3", Value: 2},
		{Kind: gpu.RASStatus, Name: "MC reg3", Value: 255},
		{Kind: gpu.CountLog, Type: "ERROR", Name: "SMI", Value: 3},
		{Kind: gpu.LogEID, Type: "driver", Name: "device array empty", Value: 0x2202},
	}...)
	sliced.Readings[0].Measures.Set(gpu.EthTxMBps, 1)
	parts := map[string]protocol.SliceFile{"SGPU-0": {ID: "x-sgpu0"}, "SGPU-1": {ID: "x-sgpu1"}}
	pods := []podresources.Container{{Namespace: "team-a", Pod: "infer", Name: "main", Devices: map[string][]string{"metax-tech.com/sgpu": {"x-sgpu0", "x-sgpu1"}}}}
	sliced.Users, sliced.SliceUsers = UsersOf(sliced.Node, pods, parts, nil), SliceUsersOf(pods, parts)

	// A host without Kubernetes: a container with a lease, two that share a GPU, one with a slice, a
	// lease that waits for its container, and a process, which is no user here.
	host := snapshot(t, "c500-8-sgpu")
	bdf := func(gpus ...int) (bdfs []gpu.BDF) {
		for _, i := range gpus {
			bdfs = append(bdfs, host.Node.GPUs[i].BDF)
		}
		return bdfs
	}
	container := func(id, name string, slices ...string) *usage.Container {
		return &usage.Container{Engine: "docker", ID: strings.Repeat(id, 8), Facts: usage.Facts{Name: name, Image: "maca:3.3", Slices: slices}}
	}
	host.Users, host.SliceUsers = HostUsersOf(host.Node, []usage.Holder{
		{GPUs: bdf(0, 1), Lease: &usage.Lease{ID: "0123456789ab", GPUs: bdf(0, 1), Engine: "docker", User: &usage.User{UID: 1000, Name: "ann"}}, Container: container("c0ffee00", "train")},
		{GPUs: bdf(2), Container: container("5eed5eed", "infer", host.Node.GPUs[2].Slices[0].UUID)},
		{GPUs: bdf(4), Container: container("00000001", "")},
		{GPUs: bdf(4), Container: container("00000002", "share")},
		{GPUs: bdf(5), Lease: &usage.Lease{ID: "ba9876543210", GPUs: bdf(5), Engine: "podman", User: &usage.User{UID: 1001}}},
		{GPUs: bdf(6), Processes: []usage.Process{{PID: 7}}},
	})
	host.Sources = map[string]bool{FromReader: true, FromLeases: true, "docker": true, "podman": true}

	return map[string]Snapshot{
		"in-use": inUse, "broken": broken, "sliced": sliced, "host": host,
		"silent": {Sources: map[string]bool{FromReader: false, FromKubelet: false, FromLeases: false}},
	}
}

func TestGolden(t *testing.T) {
	for name, s := range snapshots(t) {
		t.Run(name, func(t *testing.T) {
			golden.Equal(t, "testdata/"+name+".txt", text(t, s))
		})
	}
}

// TestLint: names, units and helps are those of Prometheus's conventions, and the golden files
// have every family.
func TestLint(t *testing.T) {
	all := ""
	for _, s := range snapshots(t) {
		problems, err := testutil.CollectAndLint(Collector{Take: func() Snapshot { return s }})
		if err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		all += text(t, s)
	}
	for _, f := range Families() {
		kind := "gauge"
		if strings.HasSuffix(f.Name, "_total") {
			kind = "counter"
		}
		if !strings.Contains(all, "# TYPE "+f.Name+" "+kind+"\n") {
			t.Errorf("no state has %s", f.Name)
		}
	}
}

// TestBounded: however many users there are, a GPU has the same number of series.
func TestBounded(t *testing.T) {
	count := func(s Snapshot) int { return strings.Count(text(t, s), "\nmetax_") }
	s := snapshot(t, "superpod-64")
	alone := count(s)
	var containers []podresources.Container
	for i := range 10_000 {
		id := string(s.Node.GPUs[i%64].UUID) + "::" + string(rune('a'+i%26))
		containers = append(containers, podresources.Container{
			Namespace: "x\xff", Pod: strings.Repeat("p", i%253), Name: "c", Devices: map[string][]string{"metax-tech.com/gpu": {id}},
		})
	}
	s.Users = UsersOf(s.Node, containers, nil, nil)
	if got := count(s); got != alone {
		t.Errorf("%d series with users, %d without", got, alone)
	}
}

func TestUsersOf(t *testing.T) {
	n := gpu.NewNode("")
	n.GPUs = []gpu.GPU{
		{UUID: "GPU-a", BDF: gpu.BDF{Bus: 1}, Slices: []gpu.Slice{{UUID: "SGPU-1"}, {UUID: "SGPU-2"}}},
		{UUID: "GPU-ab", BDF: gpu.BDF{Bus: 2}, Slices: []gpu.Slice{{UUID: "SGPU-3"}}},
		{BDF: gpu.BDF{Bus: 3}},
	}
	parts := map[string]protocol.SliceFile{"SGPU-1": {ID: "GPU-a-sgpu9"}, "SGPU-3": {ID: "GPU-a-sgpu9"}, "SGPU-4": {ID: "GPU-a-sgpu1"}, "GPU-ab": {ID: "GPU-a-sgpu2"}}
	one := func(ids ...string) podresources.Container {
		return podresources.Container{Namespace: "n", Pod: "p", Name: "c", Devices: map[string][]string{"r": ids}}
	}
	for ids, want := range map[string][]uint8{
		"GPU-a": {1}, "GPU-ab": {2}, "GPU-a GPU-ab": {1, 2}, "GPU-a-vf0": {1}, "GPU-ab::3": {2}, "GPU-abc": nil, "": nil, "GPU": nil, "-vf0": nil,
		"GPU-a-sgpu9": {1, 2}, "GPU-a-sgpu2": {2}, "GPU-a-sgpu1": nil, "GPU-ab-sgpu0": nil,
	} {
		var got []uint8
		users := UsersOf(n, []podresources.Container{one(strings.Fields(ids)...), one(strings.Fields(ids)...)}, parts, nil)
		for _, g := range n.GPUs {
			if of := users[g.BDF]; len(of) == 1 {
				got = append(got, g.BDF.Bus)
			} else if len(of) > 1 {
				t.Errorf("%q: %v has the users %v", ids, g.BDF, of)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", ids, diff)
		}
	}
}

// TestUsersKnown: the number of users is not stated if one of the sources did not answer.
func TestUsersKnown(t *testing.T) {
	for _, test := range []struct {
		sources map[string]bool
		want    int
	}{
		{map[string]bool{FromKubelet: true, FromLeases: true}, 1},
		{map[string]bool{FromKubelet: true}, 1},
		{map[string]bool{FromLeases: true}, 1},
		{map[string]bool{FromKubelet: true, FromLeases: false}, 0},
		{map[string]bool{FromKubelet: false, FromLeases: true}, 0},
		{map[string]bool{FromReader: true}, 0},
		{map[string]bool{FromLeases: true, "docker": true}, 1},
		{map[string]bool{FromLeases: true, "docker": false}, 0},
	} {
		s := snapshot(t, "c500-1")
		s.Sources = test.sources
		if got := strings.Count(text(t, s), "\nmetax_gpu_users{"); got != test.want {
			t.Errorf("%v: %d series", test.sources, got)
		}
	}
}
