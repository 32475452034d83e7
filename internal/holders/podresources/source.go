// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Source looks at the containers of the kubelet's pods that have GPUs.
type Source struct {
	client  Client
	devices holders.Devices
}

// NewSource returns the source for the kubelet whose socket is at address, a path of this
// machine. devices are those of the node's GPUs.
func NewSource(address string, devices holders.Devices) Source { return Source{New(address), devices} }

// Name returns usage.Kubernetes: a host has one kubelet.
func (s Source) Name() (engine, endpoint string) { return usage.Kubernetes, "" }

// Look lists the containers. Its error wraps usage.ErrAbsent where the socket's directory does
// not exist. A kubelet without a socket is stopped or is being started, and its pods may run.
func (s Source) Look(ctx context.Context, _ usage.Question) (usage.Sight, error) {
	list, err := s.client.List(ctx)
	if errors.Is(err, usage.ErrAbsent) && exists(filepath.Dir(s.client.address)) {
		err = fmt.Errorf("the kubelet does not run: there is no %s", s.client.address)
	}
	if err != nil {
		return usage.Sight{Partial: true}, err
	}
	var sight usage.Sight
	for _, c := range list {
		var facts usage.Facts
		for _, ids := range c.Devices {
			for _, id := range ids {
				facts.GPUs = append(facts.GPUs, s.devices.PluginDevice(id)...)
			}
		}
		if facts.GPUs = usage.Sorted(facts.GPUs); len(facts.GPUs) == 0 {
			continue
		}
		facts.Name = c.Namespace + "/" + c.Pod + "/" + c.Name
		sight.Containers = append(sight.Containers,
			usage.Container{Engine: usage.Kubernetes, ID: facts.Name, Facts: facts, State: usage.Running})
	}
	return sight, nil
}

func exists(dir string) bool {
	host, err := hostfs.New("/")
	return err == nil && host.Exists(dir)
}
