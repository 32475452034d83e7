// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// device is a device plugin in this process.
type device struct {
	*plugin.Server
	allocator *plugin.Allocator
	node      gpu.Node
	list      plugin.List
	stop      func()        // ends it as SIGTERM does
	later     time.Duration // looks are taken so much later
	mode      protocol.ModeSettings
}

const hideAfter = plugin.HideAfter

// startPlugin starts a plugin of a node, whose files are below root, for a kubelet.
func startPlugin(t testing.TB, k *kubelet, node gpu.Node, root string) *device {
	t.Helper()
	host, err := hostfs.New(root)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	a := &plugin.Allocator{Root: host, State: &plugin.NodeState{
		Settings: plugin.Settings{PodPolicies: true}, Log: log,
		Store: allocations.Store{Path: filepath.Join(t.TempDir(), "allocations.json"), Boot: "boot"},
	}}
	a.State.Load()
	a.State.SetCDI(true)
	d := &device{allocator: a, node: node, Server: &plugin.Server{Dir: k.dir, Resource: protocol.Resource, Backend: a, Log: log, Known: plugin.Known(podresources.New(k.podResources), protocol.Resource)}}
	d.look()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx)
	}()
	d.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(d.stop)
	return d
}

// look takes a look at the node, in which the GPUs of bad are broken.
func (d *device) look(bad ...int) {
	node := d.node
	node.GPUs = append([]gpu.GPU{}, node.GPUs...)
	for _, i := range bad {
		node.GPUs[i].Healthy = false
	}
	state, _ := health.State{}.Next(health.FromNode(node), health.DefaultRules)
	devices, _ := inventory.Devices(node, state, inventory.Options{ModeSettings: d.mode})
	d.allocator.State.SetNode(node, devices, nil)
	d.SetDevices(d.list.Next(d.allocator.State.Offered(devices), time.Now().Add(d.later)))
}

// inUse returns the devices that are not free by the plugin's record.
func (d *device) inUse() []string {
	ids, _ := d.allocator.State.InUse()
	return ids
}

// simulated returns a simulated node and the root of its files.
func simulated(t testing.TB, name string) (gpu.Node, string) {
	t.Helper()
	node, err := sim.Node(name)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := sim.HostTree(node)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "host")
	if err := tree.WriteInert(root); err != nil {
		t.Fatal(err)
	}
	return node, root
}
