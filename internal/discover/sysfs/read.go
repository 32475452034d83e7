// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// DevicesDir holds one link for each PCI function, named by its address.
const DevicesDir = "/sys/bus/pci/devices"

// function is what sysfs has about one PCI function, as text.
type function struct {
	bdf    gpu.BDF
	dir    string    // /sys/bus/pci/devices/<BDF>
	class  string    // <dir>/class, "0x038000"; empty where it cannot be read
	device string    // <dir>/device, "0x4001"; empty where it cannot be read
	numa   string    // <dir>/numa_node, "0" or "-1"; empty where absent
	place  string    // where <dir> leads, "/sys/devices/pci0000:0a/…/<BDF>"
	bound  bool      // <dir>/driver exists
	isVF   bool      // <dir>/physfn exists
	physfn string    // where <dir>/physfn leads
	drm    []drmNode // <dir>/drm/*
	mode   string    // <dir>/model, "native"; empty where absent
	sgpu   *sgpuDir  // <dir>/sgpu; nil where absent
	gpuvf  string    // <dir>/gpuvf, the driver's list of virtual functions; empty where absent
	sriov  string    // one of gpu's SRIOV constants; empty where unknown
	unread []error   // why files that every function has could not be read

	virtfn map[gpu.BDF]int // the address to which <dir>/virtfn<k> leads → k
}

// drmNode is one minor of the DRM subsystem.
type drmNode struct {
	name string // the directory's name, "card1"
	dev  string // <dir>/drm/<name>/dev, "226:1"; empty where absent
}

// reader reads functions and collects warnings about what it could not read.
type reader struct {
	host     *hostfs.Root
	unsliced []gpu.BDF
	listed   []gpu.BDF
	warnings []string
	online   *string // the host's NUMA nodes, "0-1"; nil before the first question
	layout   *string // the directory of the nodes of the driver's layout, empty without one; nil likewise
}

func (r *reader) warn(format string, a ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, a...))
}

// readFunctions returns the PCI functions of vendor 0x9999 in the order of their
// addresses.
func (r *reader) readFunctions() ([]function, error) {
	names, err := r.host.ReadDir(DevicesDir)
	if err != nil {
		return nil, err
	}
	var found []function
	for _, name := range names {
		dir := path.Join(DevicesDir, name)
		bdf, err := gpu.ParseBDF(name)
		if err != nil {
			r.warn("ignored an entry of %s: %v", DevicesDir, err)
			continue
		}
		vendor, err := r.readVendor(dir) // the one file that is read for every function of the host
		if err != nil {
			r.warn("ignored %s: %v", dir, err)
			continue
		}
		if vendor == metax {
			files := r.host.At(dir)
			found = append(found, r.readFunction(bdf, dir, files))
			files.Close()
		}
	}
	slices.SortFunc(found, func(a, b function) int { return a.bdf.Compare(b.bdf) })
	return found, nil
}

func (r *reader) readVendor(dir string) (uint64, error) {
	text, err := r.readText(path.Join(dir, "vendor"))
	if err != nil {
		return 0, err
	}
	return parseID("vendor", text, 16)
}

// readFunction reads one function. Files that every function has are recorded in unread if
// they cannot be read; the other files may be absent, and their fields are empty then.
func (r *reader) readFunction(bdf gpu.BDF, dir string, files *hostfs.Dir) function {
	f := function{bdf: bdf, dir: dir}
	need := func(name string) string {
		text, err := readText(files, name)
		if err == nil && text == "" {
			err = fmt.Errorf("%s is empty", files.Path(name))
		}
		if err != nil {
			f.unread = append(f.unread, err)
		}
		return text
	}
	f.class, f.device = need("class"), need("device")
	names, err := files.ReadDir(".")
	if err != nil {
		f.unread = append(f.unread, err)
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	if has("numa_node") {
		f.numa = r.readOptional(files, "numa_node")
	}
	if f.place, err = files.Resolve(); err != nil {
		r.warn("place of GPU %s on the PCIe bus is not known: %v", bdf, err)
	}
	f.bound = has("driver")
	if f.isVF = has("physfn"); f.isVF {
		f.physfn = r.linkTarget(path.Join(dir, "physfn"))
	}
	if has("drm") {
		f.drm = r.readDRM(files)
	}
	if has("model") {
		f.mode = r.readOptional(files, "model")
	}
	if has("sgpu") {
		f.sgpu = r.readSGPUDir(f)
	}
	f.virtfn = r.virtfnIndices(dir, names)
	if has("gpuvf") {
		f.gpuvf = r.readOptional(files, "gpuvf")
	}
	if names != nil && !f.isVF {
		f.sriov = r.sriovState(files, has("sriov_totalvfs"))
	}
	return f
}

// driverName is the name of the driver that is bound to the function; empty if there is
// none. It is read only for the message about an unusable GPU.
func (r *reader) driverName(f function) string {
	if !f.bound {
		return ""
	}
	return path.Base(r.linkTarget(path.Join(f.dir, "driver")))
}

func (r *reader) readDRM(files *hostfs.Dir) []drmNode {
	names, err := files.ReadDir("drm")
	if err != nil {
		r.warn("%v", err)
		return nil
	}
	nodes := make([]drmNode, 0, len(names))
	for _, name := range names {
		if _, _, ok := parseDRM(name); !ok {
			continue
		}
		dev, err := readText(files, path.Join("drm", name, "dev"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.warn("%v", err)
		}
		nodes = append(nodes, drmNode{name, dev})
	}
	return nodes
}

// fileReader reads files of the host by their paths, or those of one directory by their names.
type fileReader interface {
	ReadFile(name string) ([]byte, error)
}

func readText(from fileReader, name string) (string, error) {
	data, err := from.ReadFile(name)
	return strings.TrimSpace(string(data)), err
}

func (r *reader) readText(name string) (string, error) { return readText(r.host, name) }

// readOptional returns the text of a file that exists. A failure to read it is a
// warning.
func (r *reader) readOptional(from fileReader, name string) string {
	text, err := readText(from, name)
	if err != nil {
		r.warn("%v", err)
	}
	return text
}

// linkTarget returns where a link leads. A broken link is a warning.
func (r *reader) linkTarget(link string) string {
	to, err := r.host.Resolve(link)
	if err != nil {
		r.warn("follow %s: %v", link, err)
	}
	return to
}
