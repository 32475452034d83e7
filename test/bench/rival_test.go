// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/NVIDIA/go-gpuallocator/gpuallocator"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// BenchmarkRival picks 4 of the 8 GPUs of c500-8, by the picker and by the best-effort policy
// of NVIDIA's go-gpuallocator, which gets the same links. Either answer is a MetaXLink domain.
func BenchmarkRival(b *testing.B) {
	node, err := sim.Node("c500-8")
	if err != nil {
		b.Fatal(err)
	}
	graph, _ := topology.New(node) // a simulated node gives no warnings
	check := func(b *testing.B, gpus []int) {
		b.Helper()
		slices.Sort(gpus)
		if !slices.ContainsFunc(graph.Domains(), func(d []int) bool { return slices.Equal(d, gpus) }) {
			b.Fatalf("the answer is %d", gpus)
		}
	}
	b.Run("ours", func(b *testing.B) {
		picker := alloc.New(graph)
		request := alloc.Request{N: 4, Free: node.Healthy(), Policy: key.Spread}
		b.ReportAllocs()
		var answer alloc.Answer
		for b.Loop() {
			answer, _ = picker.Pick(request)
		}
		check(b, slices.Clone(answer.GPUs))
	})
	b.Run("go-gpuallocator", func(b *testing.B) {
		devices := rivalDevices(graph)
		policy := gpuallocator.NewBestEffortPolicy()
		b.ReportAllocs()
		var answer []*gpuallocator.Device
		for b.Loop() {
			answer = policy.Allocate(devices, nil, 4)
		}
		var gpus []int
		for _, d := range answer {
			gpus = append(gpus, d.Index)
		}
		check(b, gpus)
	})
}

// The types of link of go-gpuallocator: by way of the host, and one NVLink.
const (
	sameCPU      = 2
	singleSwitch = 5
	singleNVLink = 7
)

// rivalDevices are the GPUs of a graph as go-gpuallocator finds them: with the path over the
// host, and NVLink besides.
func rivalDevices(graph *topology.Graph) []*gpuallocator.Device {
	devices := make([]*gpuallocator.Device, graph.Len())
	for i := range devices {
		devices[i] = &gpuallocator.Device{Index: i, Links: map[int][]gpuallocator.P2PLink{}}
		devices[i].UUID = fmt.Sprintf("GPU-%d", i)
	}
	for i, a := range devices {
		for j, b := range devices {
			switch {
			case i == j:
			case graph.Kind(i, j) == topology.MX:
				a.Links[j] = []gpuallocator.P2PLink{rivalLink(b, singleSwitch), rivalLink(b, singleNVLink)}
			default:
				a.Links[j] = []gpuallocator.P2PLink{rivalLink(b, sameCPU)}
			}
		}
	}
	return devices
}

func rivalLink(to *gpuallocator.Device, kind uint) gpuallocator.P2PLink {
	l := gpuallocator.P2PLink{GPU: to}
	setKind(&l.Type, kind)
	return l
}

// setKind sets a type of link. The module does not export that Go type, so only inference can
// name it.
func setKind[T ~uint](t *T, kind uint) { *t = T(kind) }
