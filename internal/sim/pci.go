// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/binary"
	"fmt"
	"path"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// pciType is the type of a PCI function.
type pciType struct {
	vendor, device uint16
	subsystem      uint16 // of the same vendor
	class          uint32 // 24 bits: base class, sub-class, interface
	driver         string // "" is none
}

// The types of functions on a host. MetaX's vendor and device ids were seen on real
// hosts; the class is inferred from lspci's words "Display controller".
var (
	rootPort   = pciType{vendor: 0x8086, device: 0x352a, class: 0x060400, driver: "pcieport"}
	switchPort = pciType{vendor: 0x1000, device: 0xc030, class: 0x060400, driver: "pcieport"}
	network    = pciType{vendor: 0x15b3, device: 0x1021, subsystem: 0x0041, class: 0x020000, driver: "mlx5_core"}
	display    = pciType{vendor: 0x1a03, device: 0x2000, subsystem: 0x2000, class: 0x030000, driver: "ast"}
)

// gpuType is that of a GPU; a model without a known id has the unused id 0.
func gpuType(model string) pciType {
	return pciType{vendor: 0x9999, device: gpu.DeviceOf(model), subsystem: 0x0001, class: 0x038000, driver: module}
}

// function is a PCI function and its position.
type function struct {
	pciType
	bdf     gpu.BDF
	root    string    // the host bridge, "pci0000:0a"
	bridges []gpu.BDF // from the root port down
	numa    int
	// secondary and subordinate are the first and the last bus below a bridge;
	// secondary is 0 if the function is not a bridge.
	secondary, subordinate uint8
}

// sysfsDir is the function's directory in the tree.
func (f function) sysfsDir() string {
	dir := "sys/devices/" + f.root
	for _, b := range f.bridges {
		dir += "/" + b.String()
	}
	return dir + "/" + f.bdf.String()
}

// addPCIFiles adds a PCI function to sysfs, with the files that programs read. The
// others are left out, because a large node has thousands of functions.
func (h *host) addPCIFiles(f function) {
	dir := f.sysfsDir()
	put := func(name, format string, a ...any) { h.addFile(path.Join(dir, name), fmt.Sprintf(format, a...)+"\n") }
	put("vendor", "0x%04x", f.vendor)
	put("device", "0x%04x", f.device)
	put("class", "0x%06x", f.class)
	put("numa_node", "%d", f.numa)
	if f.secondary > 0 {
		put("secondary_bus_number", "%d", f.secondary)
		put("subordinate_bus_number", "%d", f.subordinate)
		put("max_link_speed", "32.0 GT/s PCIe")
		put("max_link_width", "16")
	} else {
		put("subsystem_vendor", "0x%04x", f.vendor)
		put("subsystem_device", "0x%04x", f.subsystem)
		put("local_cpulist", "%s", h.cpus.cpuList(f.numa))
		for _, which := range []string{"current", "max"} {
			put(which+"_link_speed", "32.0 GT/s PCIe")
			put(which+"_link_width", "16")
		}
	}
	alias := fmt.Sprintf("pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X",
		f.vendor, f.device, f.vendor, f.subsystem, f.class>>16, f.class>>8&0xff, f.class&0xff)
	uevent := fmt.Sprintf("PCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\nPCI_SLOT_NAME=%s\nMODALIAS=%s",
		f.class, f.vendor, f.device, f.vendor, f.subsystem, f.bdf, alias)
	if f.driver != "" {
		uevent = "DRIVER=" + f.driver + "\n" + uevent
		h.addLink(dir+"/driver", "sys/bus/pci/drivers/"+f.driver)
		h.addLink(fmt.Sprintf("sys/bus/pci/drivers/%s/%s", f.driver, f.bdf), dir)
	}
	put("uevent", "%s", uevent)
	h.addFile(dir+"/config", f.config())
	h.addLink(dir+"/subsystem", "sys/bus/pci")
	h.addLink("sys/bus/pci/devices/"+f.bdf.String(), dir)
}

// config is the standard header of the configuration space, which lspci and hwloc read.
func (f function) config() string {
	header := make([]byte, 64)
	binary.LittleEndian.PutUint16(header[0x00:], f.vendor)
	binary.LittleEndian.PutUint16(header[0x02:], f.device)
	binary.LittleEndian.PutUint16(header[0x04:], 0x0006) // memory and bus master on
	binary.LittleEndian.PutUint32(header[0x08:], f.class<<8|0x01)
	if f.secondary > 0 {
		header[0x0e] = 1 // a bridge's header
		header[0x18], header[0x19], header[0x1a] = f.bdf.Bus, f.secondary, f.subordinate
	} else {
		binary.LittleEndian.PutUint16(header[0x2c:], f.vendor)
		binary.LittleEndian.PutUint16(header[0x2e:], f.subsystem)
	}
	return string(header)
}
