// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// maxNUMA is the maximum number of NUMA nodes in a Linux kernel.
const maxNUMA = 1024

// cpus are the processors of a host: two threads per core, cores numbered through the
// NUMA nodes, all first threads before all second threads. With two NUMA nodes the
// first has 0-31,64-95, with eight 0-15,128-143, as on the hosts whose matrices are
// published.
type cpus struct {
	nodes int // NUMA nodes
	cores int // in each
}

// newCPUs returns processors for the NUMA nodes of the GPUs and network cards: at least two
// nodes, and an even number, because boards have sockets in pairs.
func newCPUs(n gpu.Node) (cpus, error) {
	last := 0
	for _, g := range n.GPUs {
		last = max(last, g.NUMA)
	}
	for _, c := range n.NICs {
		last = max(last, c.NUMA)
	}
	if last >= maxNUMA {
		return cpus{}, fmt.Errorf("%w: NUMA node %d; Linux has 0 to %d", ErrHost, last, maxNUMA-1)
	}
	c := cpus{nodes: (last/2 + 1) * 2, cores: 32}
	if c.nodes > 4 {
		c.cores = 16
	}
	return c, nil
}

// cpuList is the processors of a NUMA node in the kernel's list format; all processors for
// gpu.NUMAUnknown.
func (c cpus) cpuList(numa int) string {
	all := c.nodes * c.cores
	if numa == gpu.NUMAUnknown {
		return fmt.Sprintf("0-%d", 2*all-1)
	}
	first, last := numa*c.cores, (numa+1)*c.cores-1
	return fmt.Sprintf("%d-%d,%d-%d", first, last, all+first, all+last)
}

// addNUMAFiles adds the NUMA nodes and processors to sysfs.
func (h *host) addNUMAFiles() {
	for k := range h.cpus.nodes {
		dir := fmt.Sprintf("sys/devices/system/node/node%d", k)
		h.addFile(dir+"/cpulist", h.cpus.cpuList(k)+"\n")
		distance := strings.Repeat("20 ", k) + "10" + strings.Repeat(" 20", h.cpus.nodes-k-1)
		h.addFile(dir+"/distance", distance+"\n")
	}
	for _, name := range []string{"online", "possible"} {
		h.addFile("sys/devices/system/node/"+name, fmt.Sprintf("0-%d\n", h.cpus.nodes-1))
		h.addFile("sys/devices/system/cpu/"+name, h.cpus.cpuList(gpu.NUMAUnknown)+"\n")
	}
}
