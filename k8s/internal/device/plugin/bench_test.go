// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// calls is how many calls a percentile is taken of.
const calls = 10_000

// measured are nodes whose links nest.
var measured = map[string]string{"8": "c500-8", "64": "superpod-64"}

// client serves an Allocator of a simulated node and returns a client of it, with the ids of
// all GPUs.
func client(b *testing.B, name string) (v1beta1.DevicePluginClient, []string) {
	b.Helper()
	node := simtest.Node(b, name)
	log := slog.New(slog.DiscardHandler)
	a := &Allocator{State: &NodeState{Log: log, Store: allocations.Store{Path: filepath.Join(stateDir(b), "allocations.json"), Boot: "boot"}}}
	a.State.Load()
	a.State.SetCDI(true)
	a.State.SetNode(node, devicesOf(node), nil)
	var ids []string
	for _, g := range node.GPUs {
		ids = append(ids, string(g.UUID))
	}
	return connect(b, &Server{Backend: a, Log: log}), ids
}

// connect serves the calls of the kubelet and returns a client for them.
func connect(t testing.TB, s *Server) v1beta1.DevicePluginClient {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "p.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	v1beta1.RegisterDevicePluginServer(server, service{Server: s, followers: newFollowers()})
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("unix://"+listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return v1beta1.NewDevicePluginClient(conn)
}

// stateDir is a directory in memory as the real one is, if there is a place for it.
func stateDir(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "metax-bench-")
	if err != nil {
		return b.TempDir()
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func devicesOf(node gpu.Node) []inventory.Device {
	state, _ := health.State{}.Next(health.FromNode(node), health.DefaultRules)
	devices, _ := inventory.Devices(node, state, inventory.Options{})
	return devices
}

// percentiles makes the calls in each round, and reports the times of the last one.
func percentiles(b *testing.B, call func(i int) error) {
	b.Helper()
	took := make([]time.Duration, 0, calls)
	for b.Loop() {
		took = took[:0]
		for i := range calls {
			begin := time.Now()
			if err := call(i); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(begin))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "µs-max")
}

// BenchmarkGetPreferredAllocation asks over the socket, each time with other GPUs in use.
func BenchmarkGetPreferredAllocation(b *testing.B) {
	for _, gpus := range []string{"8", "64"} {
		for _, n := range []int{1, 4} {
			b.Run(fmt.Sprintf("gpus=%s/n=%d", gpus, n), func(b *testing.B) {
				c, ids := client(b, measured[gpus])
				percentiles(b, func(i int) error {
					free := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return (int(id[len(id)-1])+i)%7 == 0 })
					_, err := c.GetPreferredAllocation(context.Background(), &v1beta1.PreferredAllocationRequest{
						ContainerRequests: []*v1beta1.ContainerPreferredAllocationRequest{{AvailableDeviceIDs: free, AllocationSize: int32(n)}},
					})
					return err
				})
			})
		}
	}
}

// BenchmarkAllocate asks over the socket for four GPUs, each time for others; the record is
// written each time.
func BenchmarkAllocate(b *testing.B) {
	for _, gpus := range []string{"8", "64"} {
		b.Run("gpus="+gpus, func(b *testing.B) {
			c, ids := client(b, measured[gpus])
			percentiles(b, func(i int) error {
				at := i * 4 % len(ids)
				_, err := c.Allocate(context.Background(), &v1beta1.AllocateRequest{
					ContainerRequests: []*v1beta1.ContainerAllocateRequest{{DevicesIds: ids[at : at+4]}},
				})
				return err
			})
		})
	}
}
