package virtual

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// ignored are programs that look at GPUs without using them.
const ignored = "mx-smi,mx-exporter,metax-mxsml,metax-gpu-device,metax-exporter"

// UsersOf returns the Users of the host below root: pods, by the kubelet behind a socket, and leases, containers of
// Docker and processes, as the node tool sees them.
func UsersOf(root, socket string) Users {
	kubelet := podresources.New(socket)
	return func(ctx context.Context, gpus []gpu.BDF) ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
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
			Node: n, Root: root, Ignore: ignored,
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
		users := pods(n, gpus, containers)
		for _, h := range seen.HoldersOf(gpus) {
			if slices.ContainsFunc(h.GPUs, func(b gpu.BDF) bool { return slices.Contains(gpus, b) }) {
				users = append(users, h.String())
			}
		}
		slices.Sort(users)
		return slices.Compact(users), nil
	}
}

// pods are those that have one of the GPUs, or a device of which it is not known on which GPU it is.
func pods(n gpu.Node, gpus []gpu.BDF, containers []podresources.Container) (list []string) {
	for _, c := range containers {
		for _, resource := range []string{protocol.Resource, protocol.SliceResource, protocol.VFIOResource} {
			if slices.ContainsFunc(c.Devices[resource], func(id string) bool { return mayBe(n, gpus, id) }) {
				list = append(list, fmt.Sprintf("pod %s/%s", c.Namespace, c.Pod))
				break
			}
		}
	}
	return list
}

// mayBe reports whether the kubelet's device with this ID is on one of the GPUs: it is, or is on no GPU of the node
// that is known.
func mayBe(n gpu.Node, gpus []gpu.BDF, id string) bool {
	at := slices.IndexFunc(n.GPUs, func(g gpu.GPU) bool { return g.UUID.HasDevice(id) || strings.EqualFold(g.BDF.String(), id) })
	return at < 0 || slices.Contains(gpus, n.GPUs[at].BDF)
}
