// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Bus changes the PCI functions of GPUs.
type Bus interface {
	// SetVFs makes a GPU have n virtual functions. As in the kernel, a number other than 0 can
	// follow only 0.
	SetVFs(g gpu.BDF, n int) error
	// Bind gives a GPU to a driver, which may fail to take it; "" is the driver that claims it
	// by itself.
	Bind(g gpu.BDF, driver string) error
}

// vfioDriver is the driver for devices of virtual machines.
const vfioDriver = "vfio-pci"

// NewBus returns the bus of a host: that of the kernel, or of a simulated node below another
// root than "/".
func NewBus(host *hostfs.Root) Bus {
	if host.Real() {
		return Kernel{host}
	}
	return Simulation{host}
}

// Kernel is the bus by the files of sysfs.
type Kernel struct{ Host *hostfs.Root }

// SetVFs implements Bus. The kernel answers when the driver has done it.
func (k Kernel) SetVFs(g gpu.BDF, n int) error {
	return k.write(path.Join(sysfs.DevicesDir, g.String(), "sriov_numvfs"), fmt.Sprint(n))
}

// Bind implements Bus.
func (k Kernel) Bind(g gpu.BDF, driver string) error {
	dir := path.Join(sysfs.DevicesDir, g.String())
	if err := k.write(dir+"/driver_override", driver+"\n"); err != nil {
		return err
	}
	if k.Host.Exists(dir + "/driver") {
		if err := k.write(dir+"/driver/unbind", g.String()); err != nil {
			return err
		}
	}
	return k.write("/sys/bus/pci/drivers_probe", g.String())
}

// write writes a file of the kernel in one call.
func (k Kernel) write(name, text string) error {
	file, err := os.OpenFile(k.Host.Join(name), os.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
