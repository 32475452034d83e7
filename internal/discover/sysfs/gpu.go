// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// physicalFunction makes a GPU of a physical function.
func (r *reader) physicalFunction(f function) gpu.GPU {
	g := gpu.GPU{BDF: f.bdf, SRIOV: f.sriov}
	if f.device != "" {
		device, err := parseID("device", f.device, 16)
		if err == nil {
			g.Model = modelName(device)
		} else {
			f.unread = append(f.unread, err)
		}
	}
	var err error
	if g.NUMA, err = r.numaNode(f.numa); err != nil {
		r.warn("NUMA node of GPU %s is not known: %s/%v", f.bdf, f.dir, err)
	}
	if f.place != "" {
		if g.PCIeRoot, g.PCIePath, err = parsePlace(f.place, f.bdf); err != nil {
			r.warn("place of GPU %s on the PCIe bus is not known: %v", f.bdf, err)
		}
		g.PCIeSwitch = nearestSwitch(g.PCIePath)
	}
	r.setNodes(&g, f)
	r.recordSlices(&g, f)
	return g
}

// setNodes finds the GPU's own device nodes: all of them, or none. A GPU that lacks a
// node, or whose sysfs files could not all be read, stays in the list without nodes and
// is unhealthy: half a GPU is of no use in a container, and if the GPU were removed,
// the GPUs after it would get other indices.
func (r *reader) setNodes(g *gpu.GPU, f function) {
	var missing []string
	for _, err := range f.unread {
		missing = append(missing, err.Error())
	}
	var absent []string
	var owner groups
	g.Nodes, owner, absent = r.drmNodes(f)
	g.GIDs, g.NodeGIDs = gpu.Groups(g.Nodes, owner)
	missing = append(missing, absent...)
	g.Healthy = len(missing) == 0
	if !g.Healthy {
		g.Nodes, g.GIDs, g.NodeGIDs = nil, nil, nil
		driver := r.driverName(f)
		if driver == vfioDriver {
			g.Mode = gpu.ModeVFIO
		}
		r.warn("GPU %s cannot be used: %s%s", f.bdf, strings.Join(missing, "; "), driverState(driver))
	}
}

// drmNodes finds the device nodes of a function's DRM minors, their groups, and what is
// missing of them.
func (r *reader) drmNodes(f function) (nodes []string, owner groups, missing []string) {
	owner = groups{}
	has := map[string]bool{}
	sortDRM(f.drm)
	for _, n := range f.drm {
		kind, _, _ := parseDRM(n.name)
		has[kind] = true
		node := "/dev/dri/" + n.name
		gid, open, err := r.checkDevice(node, n.dev)
		if err != nil {
			missing = append(missing, err.Error())
			continue
		}
		nodes = append(nodes, node)
		owner.addNodeGroup(node, gid, open)
	}
	for _, kind := range []string{cardNode, renderNode} {
		if !has[kind] {
			missing = append(missing, fmt.Sprintf("no %s* in %s/drm", kind, f.dir))
		}
	}
	return nodes, owner, missing
}

// vfioDriver is the driver of devices that are passed to virtual machines.
const vfioDriver = "vfio-pci"

// driverState completes the message about a GPU without nodes by what is wrong with its
// driver; empty if the driver is MetaX's.
func driverState(driver string) string {
	switch {
	case driver == "":
		return "; no driver is bound to it (metax-ctk doctor)"
	case !ServesGPUs(driver):
		return fmt.Sprintf("; driver %q is bound to it, not metax", driver)
	}
	return ""
}

// checkDevice checks a device node: that it exists, is a character device and has the
// device numbers that sysfs reports ("226:1"; empty if sysfs reports none). It returns
// the node's group and whether everyone may open the node.
func (r *reader) checkDevice(node, numbers string) (gid uint32, open bool, err error) {
	d, err := r.host.Device(node)
	if err != nil {
		return 0, false, err
	}
	if is := fmt.Sprintf("%d:%d", d.Major, d.Minor); numbers != "" && is != numbers {
		return 0, false, fmt.Errorf("%s has the device numbers %s, sysfs says %q", node, is, numbers)
	}
	return d.GID, d.World(), nil
}

// groups are the groups of device nodes.
type groups map[string]uint32

// addNodeGroup adds the group of a node that is not open to everyone. Group 0 is left out:
// such a node is for root only, and no container joins root's group for it.
func (g groups) addNodeGroup(node string, gid uint32, open bool) {
	if !open && gid != 0 {
		g[node] = gid
	}
}
