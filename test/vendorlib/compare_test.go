// SPDX-License-Identifier: Apache-2.0

package vendorlib_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/vendorlib"
)

const (
	// libraryVar names the library, version is that of the recorded answers.
	libraryVar = "METAX_TEST_LIBMXSML"
	version    = "2.2.8"
)

var update = flag.Bool("update", false, "write the library's answers")

// field is one of the facts that are compared.
type field struct {
	name string
	// of is the fact of a GPU, by which both sides are compared.
	of func(n gpu.Node, g gpu.GPU) any
}

// fields are compared for each GPU that both have. The library has no UUID, memory and links
// of a GPU that is split into virtual functions, and nothing but address, model and reason of
// one that the driver does not serve.
var fields = []field{
	{"BDF", func(_ gpu.Node, g gpu.GPU) any { return g.BDF }},
	{"UUID", func(_ gpu.Node, g gpu.GPU) any { return g.UUID }},
	{"name", func(_ gpu.Node, g gpu.GPU) any { return g.Model }},
	{"serial", func(_ gpu.Node, g gpu.GPU) any { return g.Serial }},
	{"VBIOS", func(_ gpu.Node, g gpu.GPU) any { return g.VBIOS }},
	{"memory", func(_ gpu.Node, g gpu.GPU) any { return g.MemoryMiB }},
	{"health", func(_ gpu.Node, g gpu.GPU) any { return g.Healthy }},
	{"MetaXLink", linked},
	{"sGPUs", func(_ gpu.Node, g gpu.GPU) any { return parts(g) }},
	{"VFs", func(_ gpu.Node, g gpu.GPU) any { return slices.Clone(g.VFs) }},
}

// linked are the addresses of the GPUs to which a GPU has MetaXLink.
func linked(n gpu.Node, g gpu.GPU) any { return ends(n, g) }

func ends(n gpu.Node, g gpu.GPU) (ends []gpu.BDF) {
	for _, l := range n.Links {
		if l.Kind != topology.MX.String() || l.Down {
			continue
		}
		switch g.Index {
		case l.A:
			ends = append(ends, n.GPUs[l.B].BDF)
		case l.B:
			ends = append(ends, n.GPUs[l.A].BDF)
		}
	}
	slices.SortFunc(ends, gpu.BDF.Compare)
	return ends
}

// parts are the sGPUs of a GPU without their device nodes.
func parts(g gpu.GPU) (all []gpu.Slice) {
	for _, s := range g.Slices {
		if s.Kind == gpu.SliceSGPU {
			s.Nodes, s.GIDs, s.NodeGIDs = nil, nil, nil
			all = append(all, s)
		}
	}
	return all
}

// limited are the GPUs of a host that the driver does not serve, with the library's codes.
var limited = map[string]map[int]int{"no-layout-node": {2: 101}, "smi-unreadable": {5: 0}, "no-driver-answers": {0: 101}}

// differs are the fields in which sides may differ: the library adds up two dies. Ports may be
// up that lead to no GPU or are no MetaXLink.
var differs = map[string][]string{"two-dies": {"memory", "ports"}, "ethernet": {"ports"}}

// TestSame: the library finds on each vendorlib.Host what discovery finds there.
func TestSame(t *testing.T) {
	for _, h := range vendorlib.Hosts(t, standin.SMI(t)) {
		t.Run(h.Name, func(t *testing.T) {
			answered, readings := answer(t, h)
			theirs, ours := answered.Node(), h.Node
			if ours.GPUs == nil {
				ours = found(t, h)
			}
			for _, n := range []*gpu.Node{&ours, &theirs} {
				n.Links = slices.DeleteFunc(slices.Clone(n.Links), func(l gpu.Link) bool {
					_, a := limited[h.Name][l.A]
					_, b := limited[h.Name][l.B]
					return a || b
				})
			}
			compareNodes(t, h.Name, ours, theirs)
			compareState(t, h.Name, answered)
			comparePorts(t, h.Name, ours, answered)
			compareReadings(t, h, ours, readings)
			compareMeasures(t, h, ours, readings)
			if got := answered.Driver; got != ours.Driver.Version && len(limited[h.Name]) < len(ours.GPUs) {
				t.Errorf("driver %q, want %q", got, ours.Driver.Version)
			}
		})
	}
}

// found is the node that discovery finds on a host without the library.
func found(t *testing.T, h vendorlib.Host) gpu.Node {
	t.Helper()
	n, err := discover.Host{Root: simtest.Write(t, h.Tree), Run: tool}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func tool(ctx context.Context, path string, args ...string) ([]byte, error) {
	return exec.CommandContext(ctx, path, args...).Output()
}

func compareNodes(t *testing.T, name string, ours, theirs gpu.Node) {
	t.Helper()
	if len(ours.GPUs) != len(theirs.GPUs) {
		t.Fatalf("the library lists %d GPUs, want %d", len(theirs.GPUs), len(ours.GPUs))
	}
	for _, f := range fields {
		count := 0
		for i, g := range ours.GPUs {
			if _, isLimited := limited[name][i]; isLimited && f.name != "BDF" && f.name != "name" {
				continue
			}
			if diff := cmp.Diff(f.of(ours, g), f.of(theirs, theirs.GPUs[i])); diff != "" {
				count++
				if !slices.Contains(differs[name], f.name) {
					t.Errorf("%s of GPU %d (-discovered +library):\n%s", f.name, i, diff)
				}
			}
		}
		t.Logf("%-10s %d of %d differ", f.name, count, len(ours.GPUs))
	}
}

// inOrder are the devices that are GPUs, in the order of their addresses.
func inOrder(a mxsml.Answer) []mxsml.Device {
	devices := slices.DeleteFunc(slices.Clone(a.Devices), func(d mxsml.Device) bool { return d.Mode == mxsml.ModeVF })
	slices.SortFunc(devices, func(x, y mxsml.Device) int { return strings.Compare(x.BDF, y.BDF) })
	return devices
}

// reasons are the library's codes of the GPUs that are unhealthy, by host and GPU.
var reasons = map[string]map[int]string{
	"inactive": {3: "7 memory fault"}, "c500-8-degraded": {6: "1 simulated"}, "no-layout-node": {2: "101 Layout Node Not Found"},
	"smi-unreadable": {5: "0 "}, "no-driver-answers": {0: "101 Layout Node Not Found"},
}

// compareState compares which GPUs are unhealthy, and why.
func compareState(t *testing.T, name string, a mxsml.Answer) {
	t.Helper()
	got := map[int]string{}
	for i, d := range inOrder(a) {
		if d.Limited || d.Available == nil || !*d.Available {
			got[i] = fmt.Sprint(d.Code, " ", d.Reason)
		}
		if _, want := limited[name][i]; d.Limited != want {
			t.Errorf("GPU %d is limited: %t", i, d.Limited)
		}
	}
	if diff := cmp.Diff(reasons[name], got); diff != "" && len(got)+len(reasons[name]) > 0 {
		t.Errorf("state (-want +library):\n%s", diff)
	}
}

// comparePorts compares the GPUs at the ports of MetaXLink that are up with the node's links.
// The library knows the ends only of sets of two, four and eight.
func comparePorts(t *testing.T, name string, ours gpu.Node, a mxsml.Answer) {
	t.Helper()
	graph, _ := topology.New(ours)
	for i, d := range inOrder(a) {
		if d.Limited || d.Details == nil || slices.Contains(differs[name], "ports") {
			continue
		}
		var up int
		remote := map[string]bool{}
		for _, p := range d.Details.Ports {
			if p.Lanes == 0 {
				continue
			}
			up++
			if p.Remote != "" {
				remote[p.Remote] = true
			}
		}
		var want []string
		for _, b := range ends(ours, ours.GPUs[i]) {
			want = append(want, b.String())
		}
		if len(want) == 0 && up > 0 || up < len(want) {
			t.Errorf("GPU %d has %d ports up, and %d links", i, up, len(want))
		}
		if isKnownSet(graph, i) {
			for _, b := range want {
				if !remote[b] {
					t.Errorf("GPU %d has no port to %s: %v", i, b, d.Details.Ports)
				}
			}
		}
	}
}

func isKnownSet(graph *topology.Graph, i int) bool {
	for _, set := range graph.Domains() {
		if slices.Contains(set, i) {
			return len(set) == 4 || len(set) == 8
		}
	}
	return false
}

// compareReadings compares the readings with those of the host's mx-smi.
func compareReadings(t *testing.T, h vendorlib.Host, ours gpu.Node, a mxsml.Answer) {
	t.Helper()
	for _, r := range a.Readings {
		bdf, err := gpu.ParseBDF(r.BDF)
		at := slices.IndexFunc(ours.GPUs, func(g gpu.GPU) bool { return g.BDF == bdf })
		if err != nil || at < 0 {
			t.Fatalf("readings of %q", r.BDF)
		}
		got := fmt.Sprint(*r.UtilizationPercent, " ", *r.TemperatureCentiC, " ", *r.PowerMilliwatt, " ", *r.PowerLimit/1000, " ", r.ECC.DRAMUncorrected)
		limit := 350
		if strings.HasPrefix(ours.GPUs[at].Model, "MXC550") {
			limit = 450
		}
		if want := fmt.Sprint("0 3500 57000 ", limit, " 0"); got != want && h.Name != "busy" {
			t.Errorf("GPU %d reads %q, want %q", at, got, want)
		}
		if r.LinksUp != nil && *r.LinksUp < len(ends(ours, ours.GPUs[at])) {
			t.Errorf("GPU %d has %d links up", at, *r.LinksUp)
		}
		if differs := h.Name == "two-dies" || h.Name == "busy"; r.MemoryUsedKiB != nil && *r.MemoryUsedKiB != 826<<10 && !differs {
			t.Errorf("GPU %d uses %d KiB", at, *r.MemoryUsedKiB)
		}
	}
	if want := len(ours.GPUs) - len(limited[h.Name]); len(a.Readings) != want {
		t.Errorf("%d readings, want %d", len(a.Readings), want)
	}
}

// compareMeasures compares the library's readings with those of the driver's files.
func compareMeasures(t *testing.T, h vendorlib.Host, ours gpu.Node, a mxsml.Answer) {
	t.Helper()
	if !slices.Contains([]string{"busy", "c500-8", "full-of-slices"}, h.Name) {
		return // they are as the first
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	run := func(context.Context, ...string) ([]byte, error) { return text, nil }
	theirs, err := mxsml.Reader{Run: run, Timeout: time.Minute}.Readings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, late := layout.Fill(simtest.Write(t, h.Tree), ours, nil)
	if late != nil {
		t.Fatal(late)
	}
	files = slices.DeleteFunc(files, func(r gpu.Reading) bool {
		return !slices.ContainsFunc(theirs, func(l gpu.Reading) bool { return l.BDF == r.BDF })
	})
	if diff := cmp.Diff(theirs, files); diff != "" {
		t.Errorf("readings (-library +files):\n%s", diff)
	}
}
