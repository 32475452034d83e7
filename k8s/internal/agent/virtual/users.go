// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/users"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// watchers are the programs that look at GPUs without using them: the vendor's and those of
// this node's own pods.
var watchers = append(usage.Monitors(), "metax-mxsml", "metax-gpu-device", "metax-exporter")

// UsersOf returns the Users of the host below root: pods, by the kubelet behind a socket,
// leases and processes, as the node tool sees them, and virtual machines. No socket of an
// engine is mounted: a container of Docker without a lease is seen by its processes, while
// they have a GPU open.
func UsersOf(root, socket string) Users {
	kubelet := podresources.New(socket)
	return func(ctx context.Context, gpus []gpu.BDF) ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, users.Patience)
		defer cancel()
		n, err := node.Selector{Root: root}.Load(ctx)
		if err != nil {
			return nil, err
		}
		containers, err := kubelet.List(ctx)
		if err != nil {
			return nil, err
		}
		keeper, err := assign.New(assign.Config{
			Node: n, Root: root, HostRoot: "/", Ignore: strings.Join(watchers, ","),
			GRPC: func(*procfs.Proc, holders.Devices, lease.State) []lease.Source { return nil },
			Warn: func(string) {}, Note: func(string) {}, Looked: func([]lease.Look) {},
		})
		if err != nil {
			return nil, err
		}
		seen, err := keeper.Report(ctx)
		if err != nil && !errors.Is(err, lease.ErrNoState) {
			return nil, err
		}
		root, err := hostfs.New(root)
		if err != nil {
			return nil, err
		}
		machines, err := virtualMachines(ctx, root, n, gpus)
		if err != nil {
			return nil, err
		}
		all := append(pods(n, gpus, containers), machines...)
		for _, h := range seen.HoldersOf(gpus) {
			if slices.ContainsFunc(h.GPUs, func(b gpu.BDF) bool { return slices.Contains(gpus, b) }) {
				all = append(all, h.String())
			}
		}
		slices.Sort(all)
		return slices.Compact(all), nil
	}
}

// virtualMachines are processes that have one of the GPUs open by vfio, such as QEMU of a
// virtual machine that is not a pod: such a GPU has no device nodes of the driver metax, by
// which other processes are found.
func virtualMachines(ctx context.Context, root *hostfs.Root, n gpu.Node, gpus []gpu.BDF) ([]string, error) {
	n.GPUs = slices.DeleteFunc(slices.Clone(n.GPUs),
		func(g gpu.GPU) bool { return !g.SetAside() || !slices.Contains(gpus, g.BDF) })
	if len(n.GPUs) == 0 {
		return nil, nil
	}
	for i, g := range n.GPUs {
		n.GPUs[i].Nodes, n.GPUs[i].Slices = nil, nil
		device := path.Join(sysfs.DevicesDir, g.BDF.String())
		if group, err := root.Resolve(device + "/iommu_group"); err == nil {
			n.GPUs[i].Nodes = append(n.GPUs[i].Nodes, "/dev/vfio/"+path.Base(group))
		}
		names, _ := root.ReadDir(device + "/vfio-dev") // of newer kernels
		for _, name := range names {
			n.GPUs[i].Nodes = append(n.GPUs[i].Nodes, "/dev/vfio/devices/"+name)
		}
	}
	return users.Processes(ctx, procfs.New("/proc", -1), holders.NewDevices(n, root))
}

// pods are those that have one of the GPUs, or a device of which it is not known on which GPU
// it is.
func pods(n gpu.Node, gpus []gpu.BDF, containers []podresources.Container) []string {
	return users.Pods(containers, func(resource, id string) bool {
		return slices.Contains([]string{protocol.Resource, protocol.SliceResource, protocol.VFIOResource}, resource) &&
			mayBe(n, gpus, id)
	})
}

// mayBe reports whether the kubelet's device with this ID is on one of the GPUs: it is, or is
// on no GPU of the node that is known.
func mayBe(n gpu.Node, gpus []gpu.BDF, id string) bool {
	at := slices.IndexFunc(n.GPUs,
		func(g gpu.GPU) bool { return g.UUID.HasDevice(id) || strings.EqualFold(g.BDF.String(), id) })
	return at < 0 || slices.Contains(gpus, n.GPUs[at].BDF)
}
