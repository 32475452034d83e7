package sysfs

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// The files that tell of the driver as a whole.
const (
	moduleDir     = "/sys/module/metax"
	moduleVersion = "/sys/module/metax/version"
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
	// Loaded tells whether the kernel module is there: /sys/module/metax.
	Loaded bool
	// Version is the driver's version, from /sys/module/metax/version; empty
	// if it is not known.
	Version string
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
			report.GPUs = append(report.GPUs, g)
		}
	}
	report.Strays = r.assign(vfs, report.GPUs)
	r.unique(report.GPUs)
	if len(report.GPUs) > 0 {
		report.Shared = r.shared()
	}
	report.Loaded, report.Version = r.module()
	report.Warnings = r.warnings
	return report, nil
}

// assign records virtual functions at the GPUs that they are a part of, and
// returns those that are a part of none.
func (r *reader) assign(vfs []function, gpus []gpu.GPU) (strays []gpu.BDF) {
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
	}
	return strays
}

// unique takes the nodes from GPUs that claim one of another's: a container would
// get what is not its own.
func (r *reader) unique(gpus []gpu.GPU) {
	owner := map[string]int{}
	var wrong []int
	for i := range gpus {
		for _, node := range gpus[i].Nodes {
			j, taken := owner[node]
			if !taken {
				owner[node] = i
				continue
			}
			wrong = append(wrong, i, j)
			r.warn("GPUs %s and %s cannot be used: both claim %s", gpus[j].BDF, gpus[i].BDF, node)
		}
	}
	for _, i := range wrong {
		gpus[i].Healthy, gpus[i].Nodes, gpus[i].GIDs = false, nil, nil
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

// module reads about the kernel module. A module without a version has no such
// file.
func (r *reader) module() (loaded bool, version string) {
	if !r.host.Exists(moduleDir) {
		return false, ""
	}
	version, err := r.text(moduleVersion)
	switch {
	case err != nil:
		r.warn("driver version is not known: %v", err)
	case !isVersion(version):
		r.warn("driver version is not known: %s is %.40q", moduleVersion, version)
		version = ""
	}
	return true, version
}

// isVersion accepts one printable word of a sane length.
func isVersion(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
