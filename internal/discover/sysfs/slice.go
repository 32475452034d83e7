package sysfs

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// The names of sysfs that tell of slices are known from the vendor's library
// only: that it knows them, not what they hold, nor on which driver they are.
// So each is asked for where it is, and none is missed where it is not.

// division is what <dir>/sgpu holds: the parts that the driver has made of a
// GPU.
type division struct {
	class string     // sgpu/sched_class, "0"; empty where absent
	parts []sgpuPart // sgpu/sgpu<k>, by k
}

// sgpuPart is one sGPU.
type sgpuPart struct {
	index int
	uuid  string // sgpu<k>/unique_id
	alias string // sgpu<k>/alias
	dev   string // sgpu<k>/dev, "511:3"
}

// nativeMode is what <dir>/model says of a GPU that is whole.
const nativeMode = "native"

// division reads <dir>/sgpu of a function. A directory of a part that leads
// elsewhere is left out: it is another GPU's.
func (r *reader) division(f function) *division {
	dir := path.Join(f.dir, "sgpu")
	names, err := r.host.ReadDir(dir)
	if err != nil {
		r.warn("slices of GPU %s are not known: %v", f.bdf, err)
		return nil
	}
	d := &division{}
	if slices.Contains(names, "sched_class") {
		d.class = r.optional(path.Join(dir, "sched_class"))
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
			r.warn("leave out slice %d of GPU %s: %v", k, f.bdf, err)
			continue
		}
		d.parts = append(d.parts, r.part(at, k))
	}
	return d
}

func (r *reader) part(dir string, index int) sgpuPart {
	p := sgpuPart{index: index}
	names, err := r.host.ReadDir(dir)
	if err != nil {
		r.warn("%v", err)
	}
	for name, to := range map[string]*string{"unique_id": &p.uuid, "alias": &p.alias, "dev": &p.dev} {
		if slices.Contains(names, name) {
			*to = r.optional(path.Join(dir, name))
		}
	}
	return p
}

// divide records of a GPU whether it is in slice mode, and its sGPUs. It is if
// <dir>/model says "sgpu", or any other word than "native" on a GPU that has the
// directory of slices, or if there are slices at all: to take a GPU for whole
// that is not would give away the parts of others.
func (r *reader) divide(g *gpu.GPU, f function) {
	mode := strings.ToLower(f.mode)
	known := mode == "" || mode == nativeMode || mode == gpu.ModeSGPU
	switch {
	case mode == gpu.ModeSGPU, f.sgpu != nil && len(f.sgpu.parts) > 0, !known && compat.IsWord(mode) && f.sgpu != nil:
		g.Mode = gpu.ModeSGPU
	case mode == nativeMode:
		r.whole = append(r.whole, f.bdf)
	}
	if !known {
		r.warn("mode of GPU %s: %s/model is %.40q; want %s or %s", f.bdf, f.dir, f.mode, nativeMode, gpu.ModeSGPU)
	}
	if f.sgpu == nil {
		return
	}
	qos, err := parseClass(f.sgpu.class)
	if err != nil {
		r.warn("QoS class of GPU %s is not known: %s/sgpu/%v", f.bdf, f.dir, err)
	}
	for _, p := range f.sgpu.parts {
		s := gpu.Slice{Kind: gpu.SliceSGPU, Index: p.index, UUID: p.uuid, Alias: p.alias, QoS: qos}
		if p.uuid != "" && !gpu.ValidSliceUUID(p.uuid) {
			r.warn("UUID of slice %d of GPU %s is not known: unique_id is %.40q", p.index, f.bdf, p.uuid)
			s.UUID = ""
		}
		if len(p.alias) > maxAlias || strings.ContainsFunc(p.alias, func(c rune) bool { return !terminal.Printable(c) || c == unicode.ReplacementChar }) {
			r.warn("leave out the alias of slice %d of GPU %s: it is %.40q", p.index, f.bdf, p.alias)
			s.Alias = ""
		}
		s.Nodes, s.GIDs = r.sgpuNodes(*g, p)
		g.Slices = append(g.Slices, s)
	}
}

// maxAlias bounds an alias in bytes; the library's field is not published.
const maxAlias = 128

// parseClass reads sched_class; empty is not known.
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

// sgpuNodes are the device nodes of an sGPU besides those that all GPUs share:
// the render node of its GPU, and the sGPU's own character device if it can be
// found. Neither is proven on hardware: that the render node is needed and the
// card node is not is what one third party does, and of the character devices
// it is known only that there are some.
func (r *reader) sgpuNodes(g gpu.GPU, p sgpuPart) (nodes []string, gids []uint32) {
	for _, node := range RenderNodes(g) {
		gid, open, err := r.device(node, "")
		if err != nil {
			r.warn("%v", err)
			continue
		}
		nodes, gids = append(nodes, node), appendGroup(gids, gid, open)
	}
	if nodes != nil && p.dev != "" {
		own, gid, open, err := r.sliceNode(p.dev)
		if err == nil {
			nodes, gids = append(nodes, own), appendGroup(gids, gid, open)
		} else {
			r.warn("leave out the device of slice %d of GPU %s: %v", p.index, g.BDF, err)
		}
	}
	return nodes, ascending(gids)
}

// RenderNodes are those of a GPU's own nodes that a part of it needs, too.
func RenderNodes(g gpu.GPU) []string {
	return slices.DeleteFunc(slices.Clone(g.Nodes), func(node string) bool {
		kind, _, _ := parseDRM(path.Base(node))
		return kind != renderNode
	})
}

// virtfns are the numbers of the virtual functions that <dir>/virtfn<k> lead to.
func (r *reader) virtfns(dir string, names []string) map[gpu.BDF]int {
	index := map[gpu.BDF]int{}
	for _, name := range names {
		k, ok := parseNumbered(name, "virtfn")
		if !ok || k >= gpu.MaxVFs {
			continue
		}
		b, err := gpu.ParseBDF(path.Base(r.target(path.Join(dir, name))))
		if err != nil {
			r.warn("skip %s/%s: %v", dir, name, err)
			continue
		}
		index[b] = k
	}
	return index
}

// vf records a virtual function as a slice. It has device nodes if a driver has
// made DRM nodes for it, and then all of them or none.
func (r *reader) vf(g *gpu.GPU, f function, index map[gpu.BDF]int) {
	k := index[f.bdf]
	for slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Kind == gpu.SliceVF && s.Index == k }) {
		k++ // the links of its GPU do not tell
	}
	if len(g.VFs) > gpu.MaxVFs || k >= gpu.MaxVFs {
		r.warn("leave out virtual function %s: GPU %s has more than %d", f.bdf, g.BDF, gpu.MaxVFs)
		return
	}
	s := gpu.Slice{Kind: gpu.SliceVF, Index: k, BDF: f.bdf}
	if len(f.drm) > 0 {
		nodes, gids, missing := r.drmNodes(f)
		if len(missing) == 0 {
			s.Nodes, s.GIDs = nodes, gids
		} else {
			r.warn("virtual function %s cannot be used: %s", f.bdf, strings.Join(missing, "; "))
		}
	}
	g.Slices = append(g.Slices, s)
	gpu.SortSlices(g.Slices)
}

// uniqueSlices forgets a UUID that two slices have, on both.
func (r *reader) uniqueSlices(gpus []gpu.GPU) {
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
			r.warn("leave out the UUID of slice %s: %d slices have %s", sliceLabel(g, *s), count[key], s.UUID)
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
