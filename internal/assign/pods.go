// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Pods returns the source for the containers of pods without gRPC. If the directory of the
// kubelet's socket is there, ask asks what the kubelet lists.
func Pods(socket string, ask func(context.Context) (ps.Occupancy, error)) lease.Source {
	return pods{socket, ask}
}

type pods struct {
	socket string
	ask    func(context.Context) (ps.Occupancy, error)
}

func (p pods) Name() (engine, endpoint string) { return usage.Kubernetes, "" }

// Look returns the containers of pods that have GPUs.
func (p pods) Look(ctx context.Context, _ usage.Question) (usage.Sight, error) {
	if _, err := os.Stat(filepath.Dir(p.socket)); errors.Is(err, fs.ErrNotExist) {
		return usage.Sight{}, fmt.Errorf("%s is %w", p.socket, usage.ErrAbsent)
	} else if err != nil {
		return usage.Sight{Partial: true}, err
	}
	told, err := p.ask(ctx)
	if err != nil {
		return usage.Sight{Partial: true}, fmt.Errorf("ask metax-ctk for pods: %w", err)
	}
	var sight usage.Sight
	for _, c := range told.Containers {
		if c.Engine == usage.Kubernetes {
			facts := told.Facts(usage.Key(c.Engine, c.Namespace, c.ID))
			sight.Containers = append(sight.Containers,
				usage.Container{Engine: c.Engine, ID: c.ID, Facts: facts, State: c.State})
		}
	}
	return sight, nil
}
