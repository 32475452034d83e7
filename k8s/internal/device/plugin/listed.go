// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
)

const (
	// listPause is how long a signal is followed by others: the kubelet lists a container only
	// after it has its answer to Allocate, and limits questions to 100 a second for all who
	// ask.
	listPause = 500 * time.Millisecond
	// listTime is the greatest time between two questions.
	listTime = 30 * time.Second
	// listLimit is how long one question may take.
	listLimit = 10 * time.Second
)

// FollowKubelet calls see with what the kubelet lists, whenever ask is signalled and at least
// every listTime, until ctx ends. A kubelet that does not answer is logged once.
func FollowKubelet(ctx context.Context, list ListKubelet, ask <-chan struct{}, log *slog.Logger,
	see func([]allocations.Listed),
) {
	regular := time.NewTicker(listTime)
	defer regular.Stop()
	said := ""
	for {
		listed, err := list(ctx)
		switch {
		case err == nil:
			said = ""
			see(listed)
		case ctx.Err() != nil:
			return
		case err.Error() != said:
			level := slog.LevelWarn
			if errors.Is(err, usage.ErrAbsent) {
				level = slog.LevelInfo // the kubelet is being started
			}
			log.Log(ctx, level, "which pods have GPUs is known from our own record only", "reason", err)
			said = err.Error()
		}
		select {
		case <-ctx.Done():
			return
		case <-ask:
		case <-regular.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(listPause):
		}
	}
}

// Known returns the function of a Server that asks a kubelet.
func Known(client podresources.Client, resource string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		all, err := client.Allocatable(ctx)
		return all[resource], err
	}
}

// ListKubelet returns the containers that have devices, as the kubelet lists them.
type ListKubelet func(context.Context) ([]allocations.Listed, error)

// NewListKubelet asks a kubelet about the resources.
func NewListKubelet(client podresources.Client, resources ...string) ListKubelet {
	return func(ctx context.Context) (list []allocations.Listed, err error) {
		ctx, cancel := context.WithTimeout(ctx, listLimit)
		defer cancel()
		containers, err := client.List(ctx)
		for _, c := range containers {
			var ids []string
			for _, resource := range resources {
				ids = append(ids, c.Devices[resource]...)
			}
			if len(ids) > 0 {
				list = append(list,
					allocations.Listed{Container: allocations.Container{Namespace: c.Namespace, Pod: c.Pod, Name: c.Name}, IDs: ids})
			}
		}
		return list, err
	}
}
