// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// TestNode follows looks: one broken GPU, its recovery after three good looks, failed looks,
// an excluded GPU. H is a healthy GPU of the list, U another.
func TestNode(t *testing.T) {
	a, node := allocator(t, t.TempDir(), "boot", new(strings.Builder))
	server, found := &Server{}, 0
	n := &Node{
		Rules: health.DefaultRules, Options: inventory.Options{Exclude: []string{"7"}, ModeSettings: protocol.ModeSettings{Mode: protocol.ModeNative}}, Allocator: a, Resources: []*Resource{{Server: server, Modes: []protocol.Mode{protocol.ModeNative}}}, Log: slog.New(slog.DiscardHandler),
		Software: func() *edits.Software { found++; return nil },
	}
	list := func() (text string) {
		devices, _ := server.list()
		for _, d := range devices {
			text += d.Health[:1]
		}
		return text
	}
	broken := node
	broken.GPUs = append([]gpu.GPU{}, node.GPUs...)
	broken.GPUs[2].Healthy = false
	good, bad, failed := health.FromNode(node), health.FromNode(broken), health.Look{Failed: "no answer"}
	for i, step := range []struct {
		look    health.Look
		want    string
		changes int
	}{
		{good, "HHHHHHH", 7},
		{bad, "HHUHHHH", 1},
		{good, "HHUHHHH", 0},
		{good, "HHUHHHH", 0},
		{good, "HHHHHHH", 1},
		{failed, "HHHHHHH", 0},
		{failed, "HHHHHHH", 0},
		{failed, "UUUUUUU", 7},
	} {
		seen := n.See(node, step.look, time.Unix(1000, 0))
		if got := list(); got != step.want || len(seen.Changes) != step.changes {
			t.Errorf("look %d: %s with %d changes, want %s with %d", i, got, len(seen.Changes), step.want, step.changes)
		}
	}
	if found != 1 {
		t.Errorf("MXMACA was looked for %d times", found)
	}
	// The vendor's software does not list the GPU any more: what is published of it still has
	// its UUID.
	uuid := broken.GPUs[2].UUID
	broken.GPUs[2].UUID = ""
	if seen := n.See(broken, health.FromNode(broken), time.Unix(1000, 0)); seen.Node.GPUs[2].UUID != uuid || broken.GPUs[2].UUID != "" {
		t.Errorf("the UUID of an unhealthy GPU is %q, want %q", seen.Node.GPUs[2].UUID, uuid)
	}
}
