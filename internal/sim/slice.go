// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// addSlices adds the plan's slices to g. The function numbers of virtual functions
// follow the GPU's own.
func (p plan) addSlices(g *gpu.GPU, more *minors) {
	if n := p.sliced[g.Index]; n > 0 {
		g.Mode = gpu.ModeSGPU
		for k := range n {
			g.Slices = append(g.Slices, gpu.Slice{
				Kind: gpu.SliceSGPU, Index: k, UUID: p.sliceUUID(g.Index, k), Alias: fmt.Sprintf("part-%d", k),
				ComputePercent: 5, MemoryMiB: 4096, // as mx-smi makes them
				QoS: gpu.QoSBestEffort, Nodes: slices.Clone(g.Nodes[1:]), GIDs: []uint32{video},
			})
		}
	}
	if p.virtual[g.Index] > 0 { // what the driver reports of no such GPU
		g.UUID, g.MemoryMiB = "", 0
	}
	for k := range p.virtual[g.Index] {
		b := g.BDF
		b.Function += uint8(k) + 1
		g.VFs, g.SRIOV = append(g.VFs, b), gpu.SRIOVOn
		g.Slices = append(g.Slices,
			gpu.Slice{Kind: gpu.SliceVF, Index: k, BDF: b, Nodes: more.nextPair(), GIDs: []uint32{video}})
	}
}

// sliceUUID has the prefix that the vendor's library gives to the UUID of an sGPU.
func (p plan) sliceUUID(i, k int) string {
	return "GPU-" + formatUUID(identityBytes(fmt.Sprintf("%s/%d", p.name, i), k))
}

// addVFFiles adds the SR-IOV files of a GPU, the links between it and its virtual
// functions, and their device nodes.
func (h *host) addVFFiles(f function, g gpu.GPU) error {
	if g.SRIOV != gpu.SRIOVForbidden {
		h.addFile(f.sysfsDir()+"/sriov_totalvfs", "8\n")
		h.addFile(f.sysfsDir()+"/sriov_numvfs", fmt.Sprintf("%d\n", len(g.VFs)))
	}
	for k, b := range g.VFs {
		s := sliceAt(g, b)
		if s.Kind == gpu.SliceVF {
			k = s.Index
		}
		vf := h.fabric.functions[b]
		h.addLink(vf.sysfsDir()+"/physfn", f.sysfsDir())
		h.addLink(fmt.Sprintf("%s/virtfn%d", f.sysfsDir(), k), vf.sysfsDir())
		for i, node := range s.Nodes {
			if err := h.addDRMNode(vf, node, groupOf(node, s.GIDs, s.NodeGIDs, i)); err != nil {
				return fmt.Errorf("virtual function %s: %w", b, err)
			}
		}
	}
	return nil
}

// sliceAt is the virtual function of a GPU at an address; zero if there is none.
func sliceAt(g gpu.GPU, b gpu.BDF) gpu.Slice {
	for _, s := range g.Slices {
		if s.Kind == gpu.SliceVF && s.BDF == b {
			return s
		}
	}
	return gpu.Slice{}
}

// slicedMajor is the major number of the devices of sGPUs; the real one is assigned
// when the driver is loaded. slicedName is the name of the first device below /dev; the
// real one is not published.
const (
	slicedMajor = 510
	slicedName  = "mxsgpu"
)

// addSliceFiles adds the driver's files about slice mode, in the form that the vendor's
// library reads.
func (h *host) addSliceFiles(f function, g gpu.GPU) error {
	if f.driver != module && f.driver != pfModule {
		return nil
	}
	if g.Mode != gpu.ModeSGPU {
		h.addFile(f.sysfsDir()+"/model", "native\n")
		return nil
	}
	h.addFile(f.sysfsDir()+"/model", gpu.ModeSGPU+"\n")
	dir := f.sysfsDir() + "/sgpu"
	count, compute, memory, class := 0, 100, g.MemoryMiB, "0"
	for _, s := range g.Slices {
		if s.Kind != gpu.SliceSGPU {
			continue
		}
		if at := slices.Index(gpu.QoSClasses(), s.QoS); at >= 0 {
			class = fmt.Sprint(at)
		}
		count++
		compute -= s.ComputePercent
		memory -= s.MemoryMiB
		if err := h.addSGPUFiles(fmt.Sprintf("%s/sgpu%d", dir, s.Index), s, g); err != nil {
			return fmt.Errorf("sGPU %d: %w", s.Index, err)
		}
	}
	if memory < 0 {
		return fmt.Errorf("%w: its sGPUs have more memory than the GPU", ErrHost)
	}
	h.addFile(dir+"/sched_class", class+"\n")
	h.addFile(dir+"/sched_timeslice", "20\n")
	h.addFile(dir+"/create", "")
	h.addFile(dir+"/remove", "")
	h.addFile(dir+"/available_devcnt", fmt.Sprintf("%d\n", gpu.MaxSlices-count))
	h.addFile(dir+"/available_sched_quota", fmt.Sprintf("%d\n", max(compute, 0)))
	h.addFile(dir+"/available_vram_quota", fmt.Sprintf("%d\n", memory))
	h.addFile(dir+"/total_vram_quota", fmt.Sprintf("%d\n", g.MemoryMiB))
	return nil
}

func (h *host) addSGPUFiles(dir string, s gpu.Slice, g gpu.GPU) error {
	if !strings.HasPrefix(s.UUID, "GPU-") { // others are in the layout
		h.addFile(dir+"/unique_id", s.UUID+"\n")
	}
	h.addFile(dir+"/alias", s.Alias+"\n")
	h.addFile(dir+"/vram_quota", fmt.Sprintf("%d\n", s.MemoryMiB))
	h.addFile(dir+"/sched_quota", fmt.Sprintf("%d\n", s.ComputePercent))
	h.addFile(dir+"/sched_priority", "0\n")
	h.addFile(dir+"/minor", fmt.Sprintf("%d\n", s.Index))
	h.addFile(dir+"/online", "1\n")
	for k, node := range s.Nodes {
		if slices.Contains(g.Nodes, node) {
			continue
		}
		name, ok := strings.CutPrefix(node, "/dev/")
		if !ok || strings.HasPrefix(name, "dri/") {
			return fmt.Errorf("%w: device node %q is neither its GPU's nor its own", ErrHost, node)
		}
		h.addCharDevice(char{
			dir: dir, class: slicedName, name: name, major: slicedMajor, minor: h.sgpus,
			gid: groupOf(node, s.GIDs, s.NodeGIDs, k),
		})
		h.sgpus++
	}
	return nil
}

// hasOwnNode reports whether an sGPU of g has its own character device.
func hasOwnNode(g gpu.GPU) bool {
	return slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool {
		return s.Kind == gpu.SliceSGPU && slices.ContainsFunc(s.Nodes, func(n string) bool {
			return !slices.Contains(g.Nodes, n) && path.Dir(n) != "/dev/dri"
		})
	})
}
