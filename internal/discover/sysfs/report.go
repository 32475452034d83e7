// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Report is what the kernel reports about a node.
type Report struct {
	// GPUs are the physical functions in the order of their addresses, from
	// /sys/bus/pci/devices; indices are set.
	GPUs []gpu.GPU
	// Shared are the existing device nodes that all GPUs have in common (of /dev/mxcd,
	// /dev/mxnd, /dev/mxgd); nil if there are none.
	Shared *gpu.Shared
	// OrphanVFs are virtual functions whose physical function is not in GPUs. They are
	// left out.
	OrphanVFs []gpu.BDF
	// Unsliced are the GPUs whose /sys/bus/pci/devices/<BDF>/model is "native": they
	// are not in slice mode and have no sGPUs now, so sGPUs in an older record are
	// obsolete. They may have virtual functions.
	Unsliced []gpu.BDF
	// Listed are the GPUs whose list of sGPUs the kernel has, also an empty one: an sGPU of
	// an older record that is not in it is gone.
	Listed []gpu.BDF
	// Module is the driver's kernel module, as far as the kernel reports it.
	Module Module
	// Warnings are one line each about what could not be read or is contradictory.
	Warnings []string
}

// Read reads sysfs and /dev. It fails only if the list of PCI functions cannot be read;
// everything else that is missing or wrong is a warning. A function whose vendor cannot
// be read is left out. A function of MetaX counts as a GPU unless its class says that
// it is something else, so that an unreadable file does not change the indices of other
// GPUs.
func Read(host *hostfs.Root) (Report, error) {
	r := &reader{host: host}
	functions, err := r.readFunctions()
	if err != nil {
		return Report{}, err
	}
	report := Report{GPUs: []gpu.GPU{}}
	var vfs []function
	lists := map[gpu.BDF]string{} // the driver's list of virtual functions of a GPU
	index := map[gpu.BDF]int{}    // of a virtual function on its GPU
	for _, f := range functions {
		class, err := parseID("class", f.class, 24)
		if err != nil && f.class != "" {
			f.unread = append(f.unread, err)
		}
		switch {
		case err == nil && !isGPU(class): // another device
		case f.isVF:
			vfs = append(vfs, f)
		default:
			g := r.physicalFunction(f)
			g.Index = len(report.GPUs)
			maps.Copy(index, f.virtfn)
			lists[f.bdf] = f.gpuvf
			report.GPUs = append(report.GPUs, g)
		}
	}
	report.OrphanVFs = r.assignVFs(vfs, index, report.GPUs)
	for _, g := range report.GPUs {
		r.compareVFs(g, lists[g.BDF])
	}
	r.dropSharedNodes(report.GPUs)
	r.dropSharedSliceUUIDs(report.GPUs)
	if len(report.GPUs) > 0 {
		report.Shared = r.sharedNodes()
	}
	report.Module = loadedModule(host)
	report.Unsliced, report.Listed, report.Warnings = r.unsliced, r.listed, r.warnings
	return report, nil
}

// assignVFs adds virtual functions to their GPUs, and returns those whose GPU is not in
// gpus. index has the number of each virtual function for which its GPU has a virtfn
// link.
func (r *reader) assignVFs(vfs []function, index map[gpu.BDF]int, gpus []gpu.GPU) (orphans []gpu.BDF) {
	var rest []func()
	for _, f := range vfs {
		parent, err := parsePhysFn(f.physfn)
		if err != nil {
			orphans = append(orphans, f.bdf)
			r.warn("ignored virtual function %s: %v", f.dir, err)
			continue
		}
		at := slices.IndexFunc(gpus, func(g gpu.GPU) bool { return g.BDF == parent })
		if at < 0 {
			orphans = append(orphans, f.bdf)
			r.warn("ignored virtual function %s: its physical function %s is not a GPU here", f.dir, parent)
			continue
		}
		gpus[at].VFs = append(gpus[at].VFs, f.bdf)
		gpus[at].SRIOV = gpu.SRIOVOn
		if _, numbered := index[f.bdf]; numbered {
			r.addVF(&gpus[at], f, index)
		} else {
			rest = append(rest, func() { r.addVF(&gpus[at], f, index) })
		}
	}
	for _, record := range rest {
		record() // gets a number that no other has
	}
	return orphans
}

// dropSharedNodes removes the nodes of GPUs that claim the same device node: a
// container would otherwise get another GPU's node. The same applies to slices, except
// that the sGPUs of one GPU share that GPU's nodes.
func (r *reader) dropSharedNodes(gpus []gpu.GPU) {
	type claim struct{ gpu, slice int } // slice is -1 for the GPU itself
	owner := map[string]claim{}
	var wrong []claim
	name := func(c claim) string {
		if c.slice < 0 {
			return gpus[c.gpu].BDF.String()
		}
		return sliceLabel(gpus[c.gpu], gpus[c.gpu].Slices[c.slice])
	}
	claimNodes := func(c claim, nodes []string) {
		for _, node := range nodes {
			other, taken := owner[node]
			if !taken {
				owner[node] = c
				continue
			}
			wrong = append(wrong, c, other)
			r.warn("GPUs %s and %s cannot be used: both have the device node %s", name(other), name(c), node)
		}
	}
	for i, g := range gpus {
		claimNodes(claim{i, -1}, g.Nodes)
		for k, s := range g.Slices {
			own := s.Nodes
			if s.Kind == gpu.SliceSGPU {
				own = slices.DeleteFunc(slices.Clone(own), func(n string) bool { return slices.Contains(g.Nodes, n) })
			}
			claimNodes(claim{i, k}, own)
		}
	}
	for _, c := range wrong {
		g := &gpus[c.gpu]
		if c.slice >= 0 {
			g.Slices[c.slice].Nodes, g.Slices[c.slice].GIDs, g.Slices[c.slice].NodeGIDs = nil, nil, nil
			continue
		}
		g.Healthy, g.Nodes, g.GIDs, g.NodeGIDs = false, nil, nil, nil
		for k, s := range g.Slices {
			if s.Kind == gpu.SliceSGPU {
				g.Slices[k].Nodes, g.Slices[k].GIDs, g.Slices[k].NodeGIDs = nil, nil, nil
			}
		}
	}
}

// sharedNodes finds the device nodes common to all GPUs. All GPUs need /dev/mxcd; only
// some product lines have the others.
func (r *reader) sharedNodes() *gpu.Shared {
	s, owner := &gpu.Shared{}, groups{}
	for _, node := range []string{"/dev/mxcd", "/dev/mxnd", "/dev/mxgd"} {
		gid, open, err := r.checkDevice(node, "")
		switch {
		case err == nil:
			s.Nodes = append(s.Nodes, node)
			owner.addNodeGroup(node, gid, open)
		case node == "/dev/mxcd":
			r.warn("compute will not work, the shared control device is missing: %v", err)
		case !errors.Is(err, fs.ErrNotExist):
			r.warn("ignored %s: %v", node, err)
		}
	}
	if s.Nodes == nil {
		return nil
	}
	s.GIDs, s.NodeGIDs = gpu.Groups(s.Nodes, owner)
	return s
}
