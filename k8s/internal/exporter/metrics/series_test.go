// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// crowded is a simulated node whose sources know everything, with as many slices on all GPUs
// together, where each GPU and each slice has one container. Registers, events and messages,
// of which only the driver knows the names, are left out.
func crowded(t *testing.T, name string, slices int) Snapshot {
	s := snapshot(t, name)
	var holders []usage.Holder
	for i := range s.Node.GPUs {
		g, r := &s.Node.GPUs[i], &s.Readings[i]
		r.Measures.Set(gpu.EthTxMBps, 0)
		r.Measures.Set(gpu.EthRxMBps, 0)
		r.Counters = nil
		for k := range slices / len(s.Node.GPUs) {
			slice := gpu.Slice{Kind: gpu.SliceSGPU, Index: k, UUID: fmt.Sprint("S", i, "-", k), ComputePercent: 1, MemoryMiB: 128}
			g.Slices = append(g.Slices, slice)
			m := r.SliceOf(k)
			m.Measures.Set(gpu.SlicePercent, 1)
			m.Measures.Set(gpu.UsedKiB, 1)
			holders = append(holders, usage.Holder{GPUs: []gpu.BDF{g.BDF}, Container: &usage.Container{ID: slice.UUID, Engine: "docker", Facts: usage.Facts{Slices: []string{slice.UUID}}}})
		}
		if slices == 0 {
			holders = append(holders, usage.Holder{GPUs: []gpu.BDF{g.BDF}, Container: &usage.Container{ID: fmt.Sprint(i), Engine: "docker"}})
		}
	}
	s.Users, s.SliceUsers = HostUsersOf(s.Node, holders)
	s.Sources = map[string]bool{FromReader: true, FromReadings: true, FromLeases: true, "docker": true, "containerd": true, "podman": true, "cri-o": true}
	return s
}

// TestSeries compares the numbers of series with those of the pages.
func TestSeries(t *testing.T) {
	var want []string
	for _, test := range []struct {
		name   string
		slices int
	}{{"c500-8", 0}, {"superpod-64", 0}, {"c500-8", 128}} {
		text := textFor(t, crowded(t, test.name, test.slices), "x")
		count := func(prefix string) int { return len(regexp.MustCompile("(?m)^"+prefix).FindAllString(text, -1)) }
		want = append(want, fmt.Sprintf("%d + %d", count("metax_"), count("mx_")))
	}
	for _, page := range []string{"kubernetes-metrics.md", "zh/kubernetes-metrics.md"} {
		text := testfile.Text(t, "../../../../docs/"+page)
		got := regexp.MustCompile(`\d+ \+ \d+`).FindAllString(text, -1)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-counted +page):\n%s", page, diff)
		}
	}
}

// TestMostUsers: a GPU that many containers share has a bounded number of series.
func TestMostUsers(t *testing.T) {
	s := snapshot(t, "c500-1")
	count := func(users int) int {
		var holders []usage.Holder
		for i := range users {
			holders = append(holders, usage.Holder{GPUs: []gpu.BDF{s.Node.GPUs[0].BDF}, Container: &usage.Container{ID: fmt.Sprint(i), Engine: "docker"}})
		}
		s.Users, s.SliceUsers = HostUsersOf(s.Node, holders)
		return len(regexp.MustCompile("(?m)^m").FindAllString(textFor(t, s, "x"), -1))
	}
	one, most, more := count(1), count(maxUsers), count(200)
	if most-one != (maxUsers-1)*4 || more != most {
		t.Errorf("%d series with one container, %d with %d, %d with 200", one, most, maxUsers, more)
	}
}
