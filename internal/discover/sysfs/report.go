package sysfs

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Report is what the kernel says of a node.
type Report struct {
	// GPUs are the physical functions in the order of their addresses, from
	// /sys/bus/pci/devices; indices are set.
	GPUs []gpu.GPU
	// Shared are the device nodes common to all GPUs that exist: /dev/mxcd,
	// /dev/mxnd, /dev/mxgd; nil if there is none.
	Shared *gpu.Shared
	// Strays are virtual functions that belong to none of GPUs, and were left
	// out.
	Strays []gpu.BDF
	// Whole are the GPUs of which /sys/bus/pci/devices/<BDF>/model says that
	// they are not in slice mode, and that have no slices: whoever says
	// otherwise speaks of another day. Virtual functions are another matter.
	Whole []gpu.BDF
	// Module is the kernel module of the driver, as far as the kernel itself tells of
	// it.
	Module Module
	// Warnings say what could not be read or contradicts itself, one line each.
	Warnings []string
}

// Read reads sysfs and /dev. It fails only if there is no list of PCI functions
// at all; everything else that is missing or wrong is a warning. A function
// whose vendor cannot be read is left out. One of MetaX's counts as a GPU unless
// it is known to be none, so that a file that cannot be read moves no index.
func Read(host *hostfs.Root) (Report, error) {
	r := &reader{host: host}
	functions, err := r.functions()
	if err != nil {
		return Report{}, err
	}
	report := Report{GPUs: []gpu.GPU{}}
	var vfs []function
	index := map[gpu.BDF]int{} // of a virtual function on its GPU
	for _, f := range functions {
		class, err := parseID("class", f.class, 24)
		if err != nil && f.class != "" {
			f.unread = append(f.unread, err)
		}
		switch {
		case err == nil && !isGPU(class):
		case f.isVF:
			vfs = append(vfs, f)
		default:
			g := r.pf(f)
			g.Index = len(report.GPUs)
			maps.Copy(index, f.virtfn)
			report.GPUs = append(report.GPUs, g)
		}
	}
	report.Strays = r.assign(vfs, index, report.GPUs)
	r.unique(report.GPUs)
	r.uniqueSlices(report.GPUs)
	if len(report.GPUs) > 0 {
		report.Shared = r.shared()
	}
	report.Module = running(host)
	report.Whole, report.Warnings = r.whole, r.warnings
	return report, nil
}

// assign records virtual functions at the GPUs that they are a part of, and
// returns those that are a part of none. Index has their numbers where the
// links of their GPUs tell.
func (r *reader) assign(vfs []function, index map[gpu.BDF]int, gpus []gpu.GPU) (strays []gpu.BDF) {
	var rest []func()
	for _, f := range vfs {
		parent, err := parsePhysFn(f.physfn)
		if err != nil {
			strays = append(strays, f.bdf)
			r.warn("leave out virtual function %s: %v", f.dir, err)
			continue
		}
		at := slices.IndexFunc(gpus, func(g gpu.GPU) bool { return g.BDF == parent })
		if at < 0 {
			strays = append(strays, f.bdf)
			r.warn("leave out virtual function %s: its physical function %s is not a GPU here", f.dir, parent)
			continue
		}
		gpus[at].VFs = append(gpus[at].VFs, f.bdf)
		if _, numbered := index[f.bdf]; numbered {
			r.vf(&gpus[at], f, index)
		} else {
			rest = append(rest, func() { r.vf(&gpus[at], f, index) })
		}
	}
	for _, record := range rest {
		record() // under a number that is left
	}
	return strays
}

// unique takes the nodes from GPUs that claim one of another's: a container would
// get what is not its own. So it is with slices, of which the sGPUs of one GPU
// have that GPU's nodes in common.
func (r *reader) unique(gpus []gpu.GPU) {
	type claim struct{ gpu, slice int } // slice is -1 for the GPU itself
	owner := map[string]claim{}
	var wrong []claim
	name := func(c claim) string {
		if c.slice < 0 {
			return gpus[c.gpu].BDF.String()
		}
		return sliceLabel(gpus[c.gpu], gpus[c.gpu].Slices[c.slice])
	}
	take := func(c claim, nodes []string) {
		for _, node := range nodes {
			other, taken := owner[node]
			if !taken {
				owner[node] = c
				continue
			}
			wrong = append(wrong, c, other)
			r.warn("GPUs %s and %s cannot be used: both claim %s", name(other), name(c), node)
		}
	}
	for i, g := range gpus {
		take(claim{i, -1}, g.Nodes)
		for k, s := range g.Slices {
			own := s.Nodes
			if s.Kind == gpu.SliceSGPU {
				own = slices.DeleteFunc(slices.Clone(own), func(n string) bool { return slices.Contains(g.Nodes, n) })
			}
			take(claim{i, k}, own)
		}
	}
	for _, c := range wrong {
		g := &gpus[c.gpu]
		if c.slice >= 0 {
			g.Slices[c.slice].Nodes, g.Slices[c.slice].GIDs = nil, nil
			continue
		}
		g.Healthy, g.Nodes, g.GIDs = false, nil, nil
		for k, s := range g.Slices {
			if s.Kind == gpu.SliceSGPU {
				g.Slices[k].Nodes, g.Slices[k].GIDs = nil, nil
			}
		}
	}
}

// shared finds the device nodes common to all GPUs. Only /dev/mxcd is needed by
// all; the others belong to some product lines.
func (r *reader) shared() *gpu.Shared {
	s := &gpu.Shared{}
	for _, node := range []string{"/dev/mxcd", "/dev/mxnd", "/dev/mxgd"} {
		gid, open, err := r.device(node, "")
		switch {
		case err == nil:
			s.Nodes = append(s.Nodes, node)
			s.GIDs = appendGroup(s.GIDs, gid, open)
		case node == "/dev/mxcd":
			r.warn("compute will not work, the shared control device is missing: %v", err)
		case !errors.Is(err, fs.ErrNotExist):
			r.warn("leave out %s: %v", node, err)
		}
	}
	if s.Nodes == nil {
		return nil
	}
	s.GIDs = ascending(s.GIDs)
	return s
}
