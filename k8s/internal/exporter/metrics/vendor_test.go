// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// TestVendorUnknown: what is not known has no series, and is not 0.
func TestVendorUnknown(t *testing.T) {
	s := snapshot(t, "c500-8")
	s.Readings = nil
	s.Health, _ = health.State{}.Next(health.Look{Failed: "no answer"}, health.DefaultRules)
	text := textFor(t, s, "node-1")
	for name := range series(t, text) {
		if strings.HasPrefix(name, "mx_") && !regexp.MustCompile(`^mx_(device_type|bios_ver|driver_ver)\{`).MatchString(name) {
			t.Errorf("%s is there", name)
		}
	}
	// A source that rounds, as mx-smi, is as good as it can be.
	used, hot, watts := 826, 36, 54
	s.Readings = []gpu.Reading{{BDF: s.Node.GPUs[0].BDF, MemoryUsedMiB: &used, TemperatureC: &hot, PowerW: &watts}}
	got := textFor(t, s, "node-1")
	for _, want := range []string{`mx_memory_used\{.*type="vram".*\} 845824`, `mx_chip_hotspot_temp\{.*\} 36`, `mx_board_power\{.*\} 54000`} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if text := textFor(t, s, ""); strings.Contains(text, "mx_") {
		t.Error("they cannot be switched off")
	}
}

// TestVendorUsers: the pod of a GPU is in all its series; pods that share one have its use
// each.
func TestVendorUsers(t *testing.T) {
	s := snapshot(t, "c500-8")
	uuid := string(s.Node.GPUs[0].UUID)
	pod := func(name, id string) podresources.Container {
		return podresources.Container{Namespace: "n", Pod: name, Name: "c", Devices: map[string][]string{"r": {id}}}
	}
	for name, test := range map[string]struct {
		pods []podresources.Container
		want map[string]int // how many series of mx_gpu_usage and mx_board_power a pod has
	}{
		"one":  {[]podresources.Container{pod("a", uuid)}, map[string]int{"a": 2}},
		"two":  {[]podresources.Container{pod("a", uuid+"::0"), pod("b", uuid+"::1")}, map[string]int{"a": 1, "b": 1, "": 1}},
		"none": {nil, map[string]int{"": 2}},
	} {
		s.Users = UsersOf(s.Node, test.pods, nil, []usage.Lease{{ID: "0123456789ab", GPUs: []gpu.BDF{s.Node.GPUs[1].BDF}}})
		got := map[string]int{}
		for _, m := range regexp.MustCompile(`(?m)^(?:mx_gpu_usage|mx_board_power)\{.*exported_pod="(\w*)".*uuid="`+uuid).FindAllStringSubmatch(textFor(t, s, "x"), -1) {
			got[m[1]]++
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestVendorLint: of Prometheus's conventions, the vendor's names miss only that labels are in
// lower case.
func TestVendorLint(t *testing.T) {
	problems, err := testutil.CollectAndLint(Collector{Take: func() Snapshot { return snapshots(t)["sliced"] }, Hostname: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Text != "label names should be written in 'snake_case' not 'camelCase'" {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestVendorComplete: each metric that the vendor's list has is there, but for those of other
// hardware, of a cluster of servers and of logs.
func TestVendorComplete(t *testing.T) {
	got := textFor(t, snapshots(t)["sliced"], "x")
	for _, f := range VendorFamilies() {
		if !strings.Contains(got, "\n"+f.Name+"{") {
			t.Errorf("no series of %s", f.Name)
		}
	}
}
