// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/containerd/api/services/containers/v1"
	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// namespace is one of containerd's namespaces, with the services to ask.
type namespace struct {
	name    string
	records containers.ContainersClient
	tasks   tasks.TasksClient
	devices holders.Devices
}

// inspectContainers returns the namespace's containers, ascending by ID. A container whose
// bundle cannot be read is left out, since its facts would be kept. One without GPUs and
// without a lease has no state.
func (n namespace) inspectContainers(ctx context.Context, q usage.Question) ([]usage.Container, error) {
	ctx = namespaces.WithNamespace(ctx, n.name)
	records, err := n.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list containers of namespace %s: %w", n.name, err)
	}
	slices.SortFunc(records, func(a, b *containers.Container) int { return strings.Compare(a.ID, b.ID) })
	found := make([]usage.Container, 0, len(records))
	errs := make([]error, len(records))
	var wg sync.WaitGroup
	for i, record := range records {
		c := usage.Container{Engine: engine, Namespace: n.name, ID: record.ID}
		if c.Facts, errs[i] = factsOf(record, n.devices, q.Seen[c.Key()]); errs[i] != nil {
			continue
		}
		found = append(found, c)
		if len(c.GPUs) == 0 && c.Lease == "" {
			continue
		}
		at := &found[len(found)-1] // does not move: found has the capacity
		if len(c.GPUs) > 0 {       // else an image has the labels
			at.Given = usage.GivenBy(record.Labels, nil)
		}
		wg.Go(func() {
			var process *task.Process
			process, errs[i] = n.task(ctx, record.ID)
			at.State, at.Init = stateOf(process)
			if process == nil && errs[i] == nil && record.Labels[nerdctlLabel] != "" && usage.ValidID(at.Lease) {
				at.State = usage.Created // nerdctl leaves a stopped container its task
			}
			at.Keeps = willRestart(record.Labels, process.GetExitStatus())
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("container %s of namespace %s: %w", records[i].ID, n.name, err)
		}
	}
	return found, errors.Join(errs...)
}

// list returns the records of all containers, in no order. It asks for a stream, because a
// single answer has a limit of size.
func (n namespace) list(ctx context.Context) ([]*containers.Container, error) {
	stream, err := n.records.ListStream(ctx, &containers.ListContainersRequest{})
	if err != nil {
		return nil, errgrpc.ToNative(err)
	}
	var records []*containers.Container
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return records, nil
		} else if err != nil {
			return nil, errgrpc.ToNative(err)
		}
		records = append(records, message.GetContainer())
	}
}

// task returns the first process of a container, nil if it has none; beside an error, one
// of unknown status.
func (n namespace) task(ctx context.Context, id string) (*task.Process, error) {
	answer, err := n.tasks.Get(ctx, &tasks.GetRequest{ContainerID: id})
	if err == nil {
		return answer.GetProcess(), nil
	}
	if err = errgrpc.ToNative(err); errdefs.IsNotFound(err) {
		return nil, nil
	}
	return &task.Process{Status: task.Status_UNKNOWN}, fmt.Errorf("ask for its task: %w", err)
}
