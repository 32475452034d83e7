// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// The classes of network devices in sysfs: a link for each, by its name.
const (
	rdmaClass = "/sys/class/infiniband"
	netClass  = "/sys/class/net"
)

// Surroundings are what is near the GPUs of a node. No container start needs it.
type Surroundings struct {
	// NICs are the network cards that are PCI functions, without virtual functions; a
	// function with several devices has the name of the first.
	NICs []gpu.NIC
	// CPUs has, by GPU, the text of /sys/bus/pci/devices/<BDF>/local_cpulist; empty if
	// it cannot be read or is not a list of processors.
	CPUs []string
}

// ReadSurroundings reads what is near the GPUs. What cannot be read is left out, because
// no device depends on it.
func ReadSurroundings(host *hostfs.Root, gpus []gpu.GPU) Surroundings {
	r := &reader{host: host}
	var s Surroundings
	for _, g := range gpus {
		text, err := r.readText(path.Join(DevicesDir, g.BDF.String(), "local_cpulist"))
		if err != nil || !gpu.ValidCPUList(text) {
			text = ""
		}
		s.CPUs = append(s.CPUs, text)
	}
	for _, class := range []struct{ dir, kind string }{{rdmaClass, gpu.NICRDMA}, {netClass, gpu.NICNet}} {
		names, err := host.ReadDir(class.dir)
		if err != nil {
			continue
		}
		sortNumbered(names)
		for _, name := range names {
			n, ok := r.nic(class.dir, name)
			known := slices.ContainsFunc(s.NICs, func(other gpu.NIC) bool { return other.BDF == n.BDF })
			n.Kind = class.kind
			if ok && !known && len(s.NICs) < gpu.MaxNICs {
				s.NICs = append(s.NICs, n)
			}
		}
	}
	gpu.SortNICs(s.NICs)
	return s
}

// nic returns the card of a network device; ok is false for a device without a card, and
// for that of a virtual function.
func (r *reader) nic(class, name string) (n gpu.NIC, ok bool) {
	dir, err := r.host.Resolve(path.Join(class, name, "device"))
	if err != nil || !gpu.ValidNICName(name) {
		return n, false
	}
	if n.BDF, err = gpu.ParseBDF(path.Base(dir)); err != nil {
		return n, false // a virtual machine's, or not on PCI
	}
	files, err := r.host.ReadDir(dir)
	if err != nil || slices.Contains(files, "physfn") {
		return n, false
	}
	text, _ := r.readText(path.Join(dir, "numa_node"))
	n.Name = name
	n.NUMA, _ = r.numaNode(text)
	n.PCIeRoot, n.PCIePath, err = parsePlace(dir, n.BDF)
	n.PCIeSwitch = nearestSwitch(n.PCIePath)
	return n, err == nil
}

// sortNumbered sorts names so that mlx5_2 is before mlx5_10.
func sortNumbered(names []string) {
	slices.SortFunc(names, func(a, b string) int {
		if x, y := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789"); x == y && len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
}
