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
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestLostCard: a card that fell off the bus is still in sysfs but no longer in
// mx-smi's list. It is unhealthy, and an earlier record does not change that.
func TestLostCard(t *testing.T) {
	root := simtest.Write(t, hostTree(t, "c500-8"))
	whole, err := discover.Host{Surroundings: true, Root: root, Run: run}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := func(ctx context.Context, path string, args ...string) ([]byte, error) {
		if args[0] != "-L" {
			return nil, errors.New("not asked here")
		}
		out, err := run(ctx, path, args...)
		var kept strings.Builder
		for line := range strings.Lines(string(out)) {
			if !strings.Contains(line, "0000:10:00.0") {
				kept.WriteString(line)
			}
		}
		return []byte(kept.String()), err
	}
	got, err := discover.Host{Surroundings: true, Root: root, Run: lost}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	record := whole
	record.GPUs = append(record.GPUs[:2:2], record.GPUs[3:]...)
	again, err := discover.Host{Surroundings: true, Root: root, Recorded: &record}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole.GPUs {
		if want := i != 2; got.GPUs[i].Healthy != want {
			t.Errorf("by mx-smi GPU %d is healthy: %t, want %t", i, !want, want)
		}
		if !again.GPUs[i].Healthy {
			t.Errorf("by a record without it GPU %d is not healthy", i)
		}
	}
}

// TestLostGPU: a GPU that the kernel no longer shows stays known as lost, also when the node
// was recorded without it, until it is back.
func TestLostGPU(t *testing.T) {
	whole, without := hostTree(t, "c500-8"), hostTree(t, "c500-8")
	record := simtest.Node(t, "c500-8")
	gone := record.GPUs[3]
	delete(without, "sys/bus/pci/devices/"+gone.BDF.String())
	for _, node := range gone.Nodes {
		delete(without, strings.TrimPrefix(node, "/"))
	}
	want := []gpu.Lost{{BDF: gone.BDF, UUID: gone.UUID, Index: 3}}
	for range 2 {
		for _, h := range []discover.Host{{Recorded: &record}, {Recorded: &record, Run: run}} {
			h.Root = simtest.Write(t, without)
			got, warnings := mustDiscover(t, h)
			if diff := cmp.Diff(want, got.Lost); diff != "" || len(got.GPUs) != 7 || !slices.Contains(warnings, want[0].String()) {
				t.Errorf("%d GPUs, %q (-want +got):\n%s", len(got.GPUs), warnings, diff)
			}
			record = got
		}
	}
	got, _ := mustDiscover(t, discover.Host{Root: simtest.Write(t, whole), Recorded: &record})
	if len(got.Lost) > 0 || len(got.GPUs) != 8 {
		t.Errorf("it is back: %d GPUs, lost %v", len(got.GPUs), got.Lost)
	}
}
