// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// onlineNodes lists the NUMA nodes that the kernel has, "0-1,4".
const onlineNodes = "/sys/devices/system/node/online"

// numaNode parses numa_node. A node that the kernel does not have is an error: the firmware of
// some boards names one, and nothing can be bound to it.
func (r *reader) numaNode(text string) (int, error) {
	n, err := parseNUMA(text)
	if err != nil || n == gpu.NUMAUnknown {
		return n, err
	}
	if r.online == nil {
		list, _ := r.readText(onlineNodes) // absent: a kernel without NUMA, or a tree without it
		r.online = &list
	}
	if *r.online != "" && !inList(*r.online, n) {
		return gpu.NUMAUnknown, fmt.Errorf("numa_node is %d; this host has the NUMA nodes %s", n, *r.online)
	}
	return n, nil
}

// inList reports whether a list of the kernel, "0-1,4", has n. A text that is not such a list
// has every number, because it says nothing against one.
func inList(list string, n int) bool {
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || (first <= n && n <= last) {
			return true
		}
	}
	return false
}
