// SPDX-License-Identifier: Apache-2.0

package slicer

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/sgpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
)

// show is "index(mode): alias qos" for each divided GPU.
func show(n gpu.Node) string {
	var words []string
	for _, g := range n.GPUs {
		if g.Mode == "" {
			continue
		}
		word := fmt.Sprintf("%d(%s)", g.Index, g.Mode)
		for _, s := range g.Slices {
			word += fmt.Sprintf(" %s %s", s.Alias, s.QoS)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// TestSlices makes and removes slices of a simulated node with its mx-smi, through a Server.
func TestSlices(t *testing.T) {
	n, tree := simtest.Host(t, "c500-8-sgpu")
	root := filepath.Join(t.TempDir(), "host")
	if err := sim.WithSMI(tree, n, standin.SMI(t)).WriteInert(root); err != nil {
		t.Fatal(err)
	}
	host := simtest.Root(t, root)
	at := node.Selector{Node: node.Host, Root: root, Run: child.Tool}
	looks := 0
	look := func(ctx context.Context) (gpu.Node, error) { looks++; return at.Load(ctx) }
	refresh := func(ctx context.Context, n gpu.Node) (gpu.Node, error) {
		return discover.Host{Root: host, Recorded: &n}.Discover(ctx)
	}
	slicer := Slicer{Discover: look, Refresh: refresh, Changer: func() (sgpu.Changer, error) { return sgpu.New(host, nil, child.Tool) }}
	server := reader.NewServer(reader.Host{Slices: slicer.Change}, reader.Schedule{}, slog.New(slog.DiscardHandler))
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	web := &httptest.Server{Listener: listener, Config: &http.Server{Handler: server.Handler()}}
	web.Start()
	defer web.Close()
	client := reader.NewClient(socket)

	one, two := allocate.Alias("team", "a", 0), allocate.Alias("team", "b", 0)
	part := func(g int, alias, qos string, compute int) mxsml.SliceRequest {
		return mxsml.SliceRequest{BDF: n.GPUs[g].BDF, Compute: compute, MemoryMiB: 1024, QoS: qos, Alias: alias}
	}
	const strangers = "2(sgpu) part-0 best-effort part-1 best-effort"
	for _, step := range []struct {
		what   string
		change reader.Change
		looks  int // each runs the vendor's software, and a scheduler waits
		want   string
	}{
		{"nothing", reader.Change{}, 1, strangers},
		{"the first slice switches its GPU", reader.Change{Make: []mxsml.SliceRequest{part(0, one, gpu.QoSFixedShare, 10)}}, 1, "0(sgpu) " + one + " fixed-share, " + strangers},
		{"another class", reader.Change{Make: []mxsml.SliceRequest{part(0, two, gpu.QoSBestEffort, 10)}}, 1, "all slices of a GPU have one QoS class"},
		{"a pod of the same name", reader.Change{Make: []mxsml.SliceRequest{part(0, one, gpu.QoSFixedShare, 20)}}, 1, "0(sgpu) " + one + " fixed-share, " + strangers},
		{"the same, known to have ended", reader.Change{Remove: []reader.Alias{{GPU: n.GPUs[0].BDF, Alias: one}}, Make: []mxsml.SliceRequest{part(0, one, gpu.QoSFixedShare, 20)}}, 1, "0(sgpu) " + one + " fixed-share, " + strangers},
		{"two of one GPU, and one away", reader.Change{Remove: []reader.Alias{{GPU: n.GPUs[0].BDF, Alias: one}}, Make: []mxsml.SliceRequest{part(1, one, gpu.QoSBurstShare, 10), part(1, two, gpu.QoSBurstShare, 10)}}, 1, "1(sgpu) " + one + " burst-share " + two + " burst-share, " + strangers},
		{"slices of others stay", reader.Change{Remove: []reader.Alias{{GPU: n.GPUs[2].BDF, Alias: "part-0"}}}, 1, "1(sgpu) " + one + " burst-share " + two + " burst-share, " + strangers},
		{"an alias of others", reader.Change{Make: []mxsml.SliceRequest{part(3, "part-2", gpu.QoSBurstShare, 10)}}, 1, "is not one of a pod's slice"},
		{"a GPU with virtual functions", reader.Change{Make: []mxsml.SliceRequest{part(5, one, gpu.QoSBurstShare, 10)}}, 1, "virtual functions"},
		{"a slice that no GPU can have", reader.Change{Make: []mxsml.SliceRequest{part(0, one, gpu.QoSBurstShare, 0)}}, 0, "0 percent of the compute units"},
		{"what is gone already", reader.Change{Remove: []reader.Alias{{GPU: n.GPUs[0].BDF, Alias: one}}}, 1, "1(sgpu) " + one + " burst-share " + two + " burst-share, " + strangers},
		{"the last ones switch their GPU back", reader.Change{Remove: []reader.Alias{{GPU: n.GPUs[1].BDF, Alias: one}, {GPU: n.GPUs[1].BDF, Alias: two}}}, 1, strangers},
	} {
		t.Run(step.what, func(t *testing.T) {
			looks = 0
			after, err := client.Slices(context.Background(), step.change)
			got := show(after)
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != step.want || err != nil && !strings.Contains(got, step.want) {
				t.Errorf("got %s\nwant %s", got, step.want)
			}
			if looks != step.looks {
				t.Errorf("%d looks at the node, want %d", looks, step.looks)
			}
		})
	}
}
