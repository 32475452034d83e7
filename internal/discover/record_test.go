// SPDX-License-Identifier: Apache-2.0

package discover_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// without is the simulated mx-smi with these queries failing.
func without(queries ...string) func(context.Context, string, ...string) ([]byte, error) {
	return func(ctx context.Context, path string, args ...string) ([]byte, error) {
		if slices.Contains(queries, args[0]) {
			return nil, errors.New("exit status 1")
		}
		return run(ctx, path, args...)
	}
}

// TestDiscoverPartly: facts from the record stay known whichever query of the tool
// fails.
func TestDiscoverPartly(t *testing.T) {
	const name = "c500-8-degraded"
	want, root := simtest.Node(t, name), simtest.Write(t, oldTree(t, name))
	const prefix, middle = "mx-smi did not report everything (", "); taken from the recorded node: "
	for _, test := range []struct {
		name    string
		queries []string
		taken   string
	}{
		{"no list", []string{"-L"}, "UUIDs, models, health, MetaXLink"},
		{"no matrix", []string{"topo"}, "MetaXLink"},
		{"no serial numbers", []string{"--show-sn"}, "serial numbers"},
		{"no memory", []string{"--show-memory", "--show-hwinfo"}, "memory sizes"},
		{"serial numbers alone", []string{"-L", "topo", "--show-memory", "--show-hwinfo"}, "UUIDs, models, memory sizes, health, MetaXLink"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Run: without(test.queries...), Recorded: &want})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			// one line, which says why, and none that denies what the node has
			if len(warnings) != 1 || !strings.HasPrefix(warnings[0], prefix) || !strings.HasSuffix(warnings[0], middle+test.taken) {
				t.Errorf("warnings are %q, want one with %q", warnings, test.taken)
			}
		})
	}
}

// TestDiscoverPartlyAnotherCard: a card that replaced another or moved gets no facts of
// the other card.
func TestDiscoverPartlyAnotherCard(t *testing.T) {
	const name = "sim:1x1x2"
	now, root := simtest.Node(t, name), simtest.Write(t, oldTree(t, name))
	for _, test := range []struct {
		name   string
		failed string
		record func(*gpu.Node)
		uuids  [2]gpu.UUID
		links  int
	}{
		{"the same", "-L", func(*gpu.Node) {}, [2]gpu.UUID{now.GPUs[0].UUID, now.GPUs[1].UUID}, len(now.Links)},
		{"another serial number", "-L", func(n *gpu.Node) { n.GPUs[0].Serial = "OTHER" }, [2]gpu.UUID{"", now.GPUs[1].UUID}, 0},
		{"moved", "-L", func(n *gpu.Node) {
			n.GPUs[0].Serial, n.GPUs[1].Serial = n.GPUs[1].Serial, n.GPUs[0].Serial
		}, [2]gpu.UUID{}, 0},
		{"another UUID", "topo", func(n *gpu.Node) { n.GPUs[0].UUID = "GPU-other" }, [2]gpu.UUID{now.GPUs[0].UUID, now.GPUs[1].UUID}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			record := simtest.Node(t, name)
			test.record(&record)
			got, _ := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Run: without(test.failed), Recorded: &record})
			if uuids := [2]gpu.UUID{got.GPUs[0].UUID, got.GPUs[1].UUID}; uuids != test.uuids || len(got.Links) != test.links {
				t.Errorf("UUIDs %q, links %v; want %q, %d links", uuids, got.Links, test.uuids, test.links)
			}
		})
	}
}

// TestDiscoverRecordedUnlinked: a record that was made without the matrix warns when it
// is used; the record of a host without MetaXLink does not.
func TestDiscoverRecordedUnlinked(t *testing.T) {
	for name, record := range map[string]func(context.Context, string, ...string) ([]byte, error){
		"without the matrix": without("topo"), "with it": run,
	} {
		t.Run(name, func(t *testing.T) {
			root := simtest.Write(t, oldTree(t, "c500-8-pcie"))
			recorded, err := discover.Host{Surroundings: true, Root: root, Run: record}.Discover(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range []discover.Host{{Surroundings: true, Root: root, Recorded: &recorded}, {Surroundings: true, Root: root, Recorded: &recorded, Run: without("topo")}} {
				_, warnings := mustDiscover(t, h)
				said := slices.ContainsFunc(warnings, func(w string) bool {
					return strings.HasSuffix(w, "the recorded node has none. Record again: sudo metax-ctk cdi generate")
				})
				if said != (name == "without the matrix") {
					t.Errorf("warnings are %q", warnings)
				}
			}
		})
	}
}

// TestDiscoverRemovedSlices: slices of the record that the kernel no longer lists are gone,
// also the last ones. Where the kernel has no list, the record is what is known.
func TestDiscoverRemovedSlices(t *testing.T) {
	const name = "c500-8-sgpu"
	record := simtest.Node(t, name)
	const dir = "/sgpu/sgpu"
	at := slices.IndexFunc(record.GPUs, func(g gpu.GPU) bool { return g.Mode == gpu.ModeSGPU })
	var kernel string
	tree := hostTree(t, name)
	for p := range tree {
		if before, _, ok := strings.Cut(p, record.GPUs[at].BDF.String()+dir); ok {
			kernel = before + record.GPUs[at].BDF.String() + "/sgpu"
		}
	}
	if kernel == "" {
		t.Fatal("no slices in the tree")
	}
	for _, test := range []struct {
		name string
		drop string // below the directory of the list
		want int
	}{
		{"as recorded", "/none", len(record.GPUs[at].Slices)},
		{"one of two", "/sgpu1", len(record.GPUs[at].Slices) - 1},
		{"all", "/sgpu", 0},
		{"no list", "", len(record.GPUs[at].Slices)},
	} {
		for _, asks := range []bool{true, false} {
			tree := hostTree(t, name)
			for p := range tree {
				if strings.HasPrefix(p, kernel+test.drop) {
					delete(tree, p)
				}
			}
			if test.name == "all" {
				tree[kernel] = sim.Dir{}
			}
			h := discover.Host{Root: simtest.Write(t, tree), Recorded: &record}
			if asks {
				h.Run = run
			}
			got, _ := mustDiscover(t, h)
			if len(got.GPUs[at].Slices) != test.want {
				t.Errorf("%s, mx-smi %v: %d slices, want %d: %+v", test.name, asks, len(got.GPUs[at].Slices), test.want, got.GPUs[at].Slices)
			}
		}
	}
}
