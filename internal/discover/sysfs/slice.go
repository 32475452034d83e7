// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// The files about slices have the form that the vendor's library reads. No hardware was seen,
// so each file is read only if it exists, and a missing file is not a warning.

// sgpuDir is the content of <dir>/sgpu: the sGPUs that the driver has made of a GPU.
type sgpuDir struct {
	class string // sgpu/sched_class, "0"; empty where absent
	parts []sgpu // sgpu/sgpu<k>, by k
}

// sgpu is the directory of one sGPU.
type sgpu struct {
	index int
	uuid  string // of the node of the driver's layout that sgpu<k>/node_id names, else sgpu<k>/unique_id
	alias string // sgpu<k>/alias
	dev   string // sgpu<k>/dev, "511:3"
	share string // sgpu<k>/sched_quota, percent of the compute units
	vram  string // sgpu<k>/vram_quota, MiB
}

// nativeMode is the content of <dir>/model for a GPU that is not in slice mode.
const nativeMode = "native"

// readSGPUDir reads <dir>/sgpu of a function. A directory of an sGPU that leads
// elsewhere is left out, because it belongs to another GPU.
func (r *reader) readSGPUDir(f function) *sgpuDir {
	dir := path.Join(f.dir, "sgpu")
	names, err := r.host.ReadDir(dir)
	if err != nil {
		r.warn("slices of GPU %s are not known: %v", f.bdf, err)
		return nil
	}
	d := &sgpuDir{}
	if slices.Contains(names, "sched_class") {
		d.class = r.readOptional(r.host, path.Join(dir, "sched_class"))
	}
	var parts []int
	for _, name := range names {
		if k, ok := parseNumbered(name, "sgpu"); ok {
			parts = append(parts, k)
		}
	}
	slices.Sort(parts)
	if len(parts) > gpu.MaxSlices {
		r.warn("GPU %s has more than %d slices; only the first are read", f.bdf, gpu.MaxSlices)
		parts = parts[:gpu.MaxSlices]
	}
	for _, k := range parts {
		at := fmt.Sprintf("%s/sgpu%d", dir, k)
		real, err := r.host.Resolve(at)
		if want := fmt.Sprintf("%s/sgpu/sgpu%d", f.place, k); err == nil && real != want {
			err = fmt.Errorf("%s leads to %s", at, real)
		}
		if err != nil {
			r.warn("ignored slice %d of GPU %s: %v", k, f.bdf, err)
			continue
		}
		d.parts = append(d.parts, r.readSGPU(at, k))
	}
	return d
}

func (r *reader) readSGPU(dir string, index int) sgpu {
	p := sgpu{index: index}
	names, err := r.host.ReadDir(dir)
	if err != nil {
		r.warn("%v", err)
	}
	var node string
	for name, to := range map[string]*string{
		"unique_id": &p.uuid, "alias": &p.alias, "dev": &p.dev, "node_id": &node, "sched_quota": &p.share,
		"vram_quota": &p.vram,
	} {
		if slices.Contains(names, name) {
			*to = r.readOptional(r.host, path.Join(dir, name))
		}
	}
	if node != "" {
		p.uuid = cmp.Or(r.layoutUUID(node), p.uuid)
	}
	return p
}

// layoutUUID is the UUID of the node of the driver's layout that node_id of an sGPU names;
// empty without one.
func (r *reader) layoutUUID(node string) string {
	if r.layout == nil {
		dir, ok := layout.Dir(r.host)
		if !ok {
			dir = ""
		}
		r.layout = &dir
	}
	number, err := strconv.ParseUint(node, 10, 16)
	if err != nil || *r.layout == "" {
		return ""
	}
	text, err := r.readText(fmt.Sprintf("%s/%d/%s", *r.layout, number, layout.IDFile))
	if err != nil || text == "" {
		return "" // as of a driver without a layout
	}
	return layout.UUIDPrefix + text
}

// recordSlices sets the mode of a GPU and adds its sGPUs. The GPU is in slice mode if
// <dir>/model is "sgpu", or is any other word than "native" while <dir>/sgpu exists, or
// if there are sGPUs at all. If a sliced GPU were treated as unsliced, a container
// would get the slices of other users.
func (r *reader) recordSlices(g *gpu.GPU, f function) {
	mode := strings.ToLower(f.mode)
	known := mode == "" || mode == nativeMode || mode == gpu.ModeSGPU
	switch {
	case mode == gpu.ModeSGPU, f.sgpu != nil && len(f.sgpu.parts) > 0, !known && compat.IsWord(mode) && f.sgpu != nil:
		g.Mode = gpu.ModeSGPU
	case mode == nativeMode:
		r.unsliced = append(r.unsliced, f.bdf)
	}
	if !known {
		r.warn("mode of GPU %s: %s/model is %.40q; want %s or %s", f.bdf, f.dir, f.mode, nativeMode, gpu.ModeSGPU)
	}
	if f.sgpu == nil {
		return
	}
	r.listed = append(r.listed, f.bdf)
	qos, err := parseClass(f.sgpu.class)
	if err != nil {
		r.warn("QoS class of GPU %s is not known: %s/sgpu/%v", f.bdf, f.dir, err)
	}
	for _, p := range f.sgpu.parts {
		s := gpu.Slice{
			Kind: gpu.SliceSGPU, Index: p.index, UUID: p.uuid, Alias: p.alias, QoS: qos,
			ComputePercent: quota(p.share, 100), MemoryMiB: quota(p.vram, maxSliceMiB),
		}
		if p.uuid != "" && !gpu.ValidSliceUUID(p.uuid) {
			r.warn("UUID of slice %d of GPU %s is not known: unique_id is %.40q", p.index, f.bdf, p.uuid)
			s.UUID = ""
		}
		if len(p.alias) > maxAlias ||
			strings.ContainsFunc(p.alias, func(c rune) bool { return !terminal.Printable(c) || c == unicode.ReplacementChar }) {
			r.warn("ignored the alias of slice %d of GPU %s: it is %.40q", p.index, f.bdf, p.alias)
			s.Alias = ""
		}
		var owner groups
		s.Nodes, owner = r.sgpuNodes(*g, p)
		s.GIDs, s.NodeGIDs = gpu.Groups(s.Nodes, owner)
		g.Slices = append(g.Slices, s)
	}
}

// maxSliceMiB is 64 TiB, far more memory than any GPU has.
const maxSliceMiB = 1 << 26

// quota parses a share of a slice; 0 is unknown.
func quota(text string, most int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= most {
		return n
	}
	return 0
}

// maxAlias bounds an alias in bytes; the size of the library's field is not published.
const maxAlias = 128

// parseClass parses sched_class; the result is empty for an empty text.
func parseClass(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	for number, class := range gpu.QoSClasses() {
		if text == strconv.Itoa(number) {
			return class, nil
		}
	}
	return "", fmt.Errorf("sched_class is %.40q; want 0, 1 or 2", text)
}

// sgpuNodes returns the device nodes of an sGPU besides those that all GPUs share: the
// render node of its GPU, and the sGPU's own character device if that can be found.
// Neither was confirmed on hardware. One third-party tool uses the render node without
// the card node; about the character devices it is only known that they exist.
func (r *reader) sgpuNodes(g gpu.GPU, p sgpu) (nodes []string, owner groups) {
	owner = groups{}
	for _, node := range RenderNodes(g) {
		gid, open, err := r.checkDevice(node, "")
		if err != nil {
			r.warn("%v", err)
			continue
		}
		nodes = append(nodes, node)
		owner.addNodeGroup(node, gid, open)
	}
	if nodes != nil && p.dev != "" {
		own, gid, open, err := r.sgpuDevice(p.dev)
		if err == nil {
			nodes = append(nodes, own)
			owner.addNodeGroup(own, gid, open)
		} else {
			r.warn("ignored the device of slice %d of GPU %s: %v", p.index, g.BDF, err)
		}
	}
	return nodes, owner
}

// RenderNodes returns the render nodes of a GPU, which its slices also need.
func RenderNodes(g gpu.GPU) []string {
	return slices.DeleteFunc(slices.Clone(g.Nodes), func(node string) bool {
		kind, _, _ := parseDRM(path.Base(node))
		return kind != renderNode
	})
}

// virtfnIndices returns the address to which each <dir>/virtfn<k> leads, with k.
func (r *reader) virtfnIndices(dir string, names []string) map[gpu.BDF]int {
	index := map[gpu.BDF]int{}
	for _, name := range names {
		k, ok := parseNumbered(name, "virtfn")
		if !ok || k >= gpu.MaxVFs {
			continue
		}
		b, err := gpu.ParseBDF(path.Base(r.linkTarget(path.Join(dir, name))))
		if err != nil {
			r.warn("ignored %s/%s: %v", dir, name, err)
			continue
		}
		index[b] = k
	}
	return index
}

// sriovState returns the state of SR-IOV of a function. The kernel shows sriov_totalvfs only
// for a function that has the capability; its driver may lower the number to 0.
func (r *reader) sriovState(files *hostfs.Dir, capable bool) string {
	number := func(name string) (n uint64, known bool) {
		text, err := readText(files, name)
		if err == nil {
			n, err = strconv.ParseUint(text, 10, 16)
		}
		if err != nil {
			r.warn("state of SR-IOV is not known: %s: %v", files.Path(name), err)
		}
		return n, err == nil
	}
	if !capable {
		return gpu.SRIOVForbidden
	}
	most, known := number("sriov_totalvfs")
	switch {
	case !known:
		return ""
	case most == 0:
		return gpu.SRIOVForbidden
	}
	now, known := number("sriov_numvfs")
	switch {
	case !known:
		return ""
	case now == 0:
		return gpu.SRIOVOff
	}
	return gpu.SRIOVOn
}

// addVF adds a virtual function as a slice. It has device nodes if a driver has made
// DRM nodes for it: all of them, or none if one is missing.
func (r *reader) addVF(g *gpu.GPU, f function, index map[gpu.BDF]int) {
	k := index[f.bdf]
	for slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Kind == gpu.SliceVF && s.Index == k }) {
		k++ // its GPU has no virtfn link to it
	}
	if len(g.VFs) > gpu.MaxVFs || k >= gpu.MaxVFs {
		r.warn("ignored virtual function %s: GPU %s has more than %d", f.bdf, g.BDF, gpu.MaxVFs)
		return
	}
	s := gpu.Slice{Kind: gpu.SliceVF, Index: k, BDF: f.bdf}
	if len(f.drm) > 0 {
		nodes, owner, missing := r.drmNodes(f)
		if len(missing) == 0 {
			s.Nodes = nodes
			s.GIDs, s.NodeGIDs = gpu.Groups(nodes, owner)
		} else {
			r.warn("virtual function %s cannot be used: %s", f.bdf, strings.Join(missing, "; "))
		}
	}
	g.Slices = append(g.Slices, s)
	gpu.SortSlices(g.Slices)
}

// dropSharedSliceUUIDs clears a UUID that two slices have, on both.
func (r *reader) dropSharedSliceUUIDs(gpus []gpu.GPU) {
	count := map[string]int{}
	each := func(do func(g gpu.GPU, s *gpu.Slice, key string)) {
		for i := range gpus {
			for k := range gpus[i].Slices {
				if s := &gpus[i].Slices[k]; s.UUID != "" {
					do(gpus[i], s, strings.ToLower(s.UUID))
				}
			}
		}
	}
	each(func(_ gpu.GPU, _ *gpu.Slice, key string) { count[key]++ })
	each(func(g gpu.GPU, s *gpu.Slice, key string) {
		if count[key] > 1 {
			r.warn("ignored the UUID of slice %s: %d slices have %s", sliceLabel(g, *s), count[key], s.UUID)
			s.UUID = ""
		}
	})
}

// sliceLabel names a slice in a message.
func sliceLabel(g gpu.GPU, s gpu.Slice) string {
	if s.Kind == gpu.SliceVF {
		return s.BDF.String()
	}
	return fmt.Sprintf("%s/sgpu%d", g.BDF, s.Index)
}
