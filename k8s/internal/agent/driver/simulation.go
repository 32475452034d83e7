// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// Simulation is the host of a built-in simulated node, whose driver is files.
type Simulation struct{ Host *hostfs.Root }

// Load makes the files of the driver. It fails with unix.EEXIST if a driver is loaded.
func (s Simulation) Load(_ context.Context, _ string, m Module) error {
	if s.Host.Exists(moduleDir) {
		return fmt.Errorf("load the simulated driver: %w", unix.EEXIST)
	}
	with, _, err := s.trees(m.Version)
	if err != nil {
		return err
	}
	return with.Add(s.Host.Dir())
}

// Unload removes the files of any driver. As the kernel's, it fails while the driver's count
// is above 0.
func (s Simulation) Unload() error {
	if text, err := s.Host.ReadFile(moduleDir + "/refcnt"); err == nil && strings.TrimSpace(string(text)) != "0" {
		return fmt.Errorf("unload the simulated driver: %w", unix.EAGAIN)
	}
	with, without, err := s.trees("0")
	if err != nil {
		return err
	}
	return errors.Join(with.Remove(s.Host.Dir()), without.Add(s.Host.Dir()))
}

func (s Simulation) trees(version string) (with, without sim.Tree, err error) {
	name, err := s.Host.ReadFile("/etc/hostname")
	if err != nil {
		return nil, nil, fmt.Errorf("find the simulated node: %w", err)
	}
	return sim.DriverTrees(strings.TrimSpace(string(name)), version)
}
