// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/containerd/containerd/api/services/containers/v1"
	"github.com/containerd/containerd/api/services/namespaces/v1"
	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// engine is what a Container of this source carries as its Engine.
const engine = "containerd"

// Source looks at the containers of one containerd.
type Source struct {
	address string
	devices holders.Devices
}

// New returns the source for the containerd whose socket is at address, a path of this
// machine. devices are those of the node's GPUs.
func New(address string, devices holders.Devices) Source { return Source{address, devices} }

// Name returns "containerd" and the socket.
func (s Source) Name() (name, endpoint string) { return engine, s.address }

// Look lists the containers of every namespace. Its error wraps usage.ErrAbsent where the
// socket does not exist. A namespace or task that does not answer makes the Sight partial;
// a container whose task does not answer counts as running.
func (s Source) Look(ctx context.Context, q usage.Question) (usage.Sight, error) {
	conn, err := dialSocket(ctx, s.address)
	if err != nil {
		return usage.Sight{}, err
	}
	defer conn.Close() // gRPC may never take it over
	client, err := newClient(s.address, conn)
	if err != nil {
		return usage.Sight{}, fmt.Errorf("connect to %s: %w", s.address, err)
	}
	defer client.Close()
	answer, err := namespaces.NewNamespacesClient(client).List(ctx, &namespaces.ListNamespacesRequest{})
	if err != nil {
		return usage.Sight{Partial: true}, fmt.Errorf("list namespaces at %s: %w", s.address, errgrpc.ToNative(err))
	}
	var names []string
	for _, n := range answer.GetNamespaces() {
		names = append(names, n.GetName())
	}
	slices.Sort(names)
	found := make([][]usage.Container, len(names))
	errs := make([]error, len(names))
	records, running := containers.NewContainersClient(client), tasks.NewTasksClient(client)
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			n := namespace{name: name, records: records, tasks: running, devices: s.devices}
			found[i], errs[i] = n.inspectContainers(ctx, q)
		})
	}
	wg.Wait()
	err = errors.Join(errs...)
	if err != nil {
		err = fmt.Errorf("ask containerd at %s: %w", s.address, err)
	}
	return usage.Sight{Containers: slices.Concat(found...), Partial: err != nil}, err
}
