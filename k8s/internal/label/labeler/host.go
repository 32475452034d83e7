// SPDX-License-Identifier: Apache-2.0

package labeler

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label"
)

// Host returns the node of the host below root. It fails with label.ErrNoGPU only if the whole
// PCI bus could be read and has no MetaX GPU.
//
// The driver's version and mode are read from the kernel's files, also where the recorded node
// does not have them, because here no container waits for the answer. A driver that is
// installed and not loaded has a mode.
func Host(ctx context.Context, root string) (gpu.Node, error) {
	host, err := hostfs.New(root)
	if err != nil {
		return gpu.Node{}, err
	}
	n, err := node.Selector{Root: root}.Load(ctx)
	if errors.Is(err, discover.ErrNoGPU) {
		return gpu.Node{}, noGPU(host)
	}
	if err != nil {
		return n, err
	}
	if discover.NotLoaded(n) != "" {
		if sysfs.DriverMode(host) == gpu.DriverNative {
			n.Driver = &gpu.Driver{Mode: gpu.DriverNative}
		}
		return n, nil
	}
	driver := gpu.Driver{}
	if n.Driver != nil {
		driver = *n.Driver
	}
	if driver.Mode == "" {
		driver.Mode = sysfs.DriverMode(host)
	}
	if driver.Version == "" {
		driver.Version = sysfs.ReadModule(host, nil).Version
	}
	n.Driver = &driver
	return n, nil
}

// Recorded identifies the record of the host's node: another text means another record, and ""
// that there is no record.
func Recorded(host *hostfs.Root) string {
	file, err := host.Open(node.RecordPath)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

// noGPU reads the PCI bus again and returns label.ErrNoGPU if all of it can be read and there
// is no GPU, and otherwise why that is not known.
func noGPU(host *hostfs.Root) error {
	kernel, err := sysfs.Read(host)
	switch {
	case err != nil:
		return fmt.Errorf("read PCI devices: %w", err)
	case len(kernel.Warnings) > 0:
		return fmt.Errorf("read PCI devices: %s", strings.Join(kernel.Warnings, "; "))
	case len(kernel.GPUs) > 0:
		return errors.New("read PCI devices: a GPU appeared between two readings")
	}
	return label.ErrNoGPU
}
