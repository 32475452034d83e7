// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"path"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// module is the name of the kernel driver and of its module; pfModule is that of the driver of
// GPUs that are split into virtual functions.
const (
	module   = "metax"
	pfModule = "MXGVM"
)

// HostTree returns the file system of the host that n describes: sysfs with its links,
// the files in /proc about the driver, device nodes, the driver's user-space part, and
// MXMACA. With mx-smi (WithSMI), discovery on it returns n.
//
// What n lacks is missing in the tree, except for PCI bridges, which are added. A
// contradictory Node is an error.
func HostTree(n gpu.Node) (Tree, error) {
	h, err := newHost(n)
	if err != nil {
		return nil, fmt.Errorf("simulate host of node %q: %w", n.Name, err)
	}
	return h.tree, nil
}

// host builds a host tree.
type host struct {
	node   gpu.Node
	tree   Tree
	cpus   cpus
	fabric *fabric
	sgpus  uint32 // number of character devices of sGPUs added so far
	err    error  // the first path that was added twice
}

func newHost(n gpu.Node) (h *host, err error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	h = &host{node: n, tree: Tree{}}
	if h.cpus, err = newCPUs(n); err != nil {
		return nil, err
	}
	if h.fabric, err = newFabric(n); err != nil {
		return nil, err
	}
	h.addSystemFiles()
	h.addNUMAFiles()
	for _, f := range h.fabric.sortedFunctions() {
		h.addPCIFiles(f)
	}
	if err := h.addDevices(); err != nil {
		return nil, err
	}
	h.addLayout()
	h.addSoftware()
	if h.err != nil {
		return nil, h.err
	}
	return h, h.tree.Check()
}

// addDevices adds what the drivers made of the PCI functions.
func (h *host) addDevices() error {
	for i, g := range h.node.GPUs {
		f := h.fabric.gpus[i]
		if err := h.addVFFiles(f, g); err != nil {
			return fmt.Errorf("GPU %d: %w", i, err)
		}
		if err := h.addSliceFiles(f, g); err != nil {
			return fmt.Errorf("GPU %d: %w", i, err)
		}
		for k, node := range g.Nodes {
			if err := h.addDRMNode(f, node, groupOf(node, g.GIDs, g.NodeGIDs, k)); err != nil {
				return fmt.Errorf("GPU %d: %w", i, err)
			}
		}
	}
	for _, f := range h.fabric.sortedFunctions() {
		if f.pciType == display {
			group := uint32(video)
			if err := h.addDRMNode(f, "/dev/dri/card0", &group); err != nil {
				return err
			}
		}
	}
	for i, c := range h.node.NICs {
		class := "net"
		if c.Kind == gpu.NICRDMA {
			class = "infiniband"
		}
		f := h.fabric.nics[i]
		dir := path.Join(f.sysfsDir(), class, c.Name)
		h.addLink(dir+"/device", f.sysfsDir())
		h.addLink(path.Join("sys/class", class, c.Name), dir)
	}
	if s := h.node.Shared; s != nil {
		for k, node := range s.Nodes {
			name := path.Base(node)
			h.addCharDevice(char{
				dir: path.Join("sys/devices/virtual", name, name), class: name, name: node[len("/dev/"):],
				major: sharedMajor, minor: uint32(k), gid: groupOf(node, s.GIDs, s.NodeGIDs, k),
			})
		}
	}
	return nil
}

// sharedMajor is the major number of /dev/mxcd and the other shared nodes. The real
// number is assigned when the driver is loaded and not published. This is the last one
// of the range for that, so that no driver of the real machine has it.
const sharedMajor = 511

// char is a character device in sysfs.
type char struct {
	dir, class, name, kind string // name is the path below /dev, kind is DEVTYPE
	major, minor           uint32
	gid                    *uint32 // nil: open to everyone
}

// addCharDevice adds a device: its node in /dev, its directory in sysfs, and the links
// by class and by number.
func (h *host) addCharDevice(c char) {
	node := Device{Major: c.major, Minor: c.minor, Perm: 0o666}
	if c.gid != nil {
		node.Perm, node.GID = 0o660, *c.gid
	}
	h.addEntry("dev/"+c.name, node)
	uevent := fmt.Sprintf("MAJOR=%d\nMINOR=%d\nDEVNAME=%s\n", c.major, c.minor, c.name)
	if c.kind != "" {
		uevent += "DEVTYPE=" + c.kind + "\n"
	}
	h.addFile(c.dir+"/uevent", uevent)
	h.addFile(c.dir+"/dev", fmt.Sprintf("%d:%d\n", c.major, c.minor))
	h.addLink(c.dir+"/subsystem", "sys/class/"+c.class)
	h.addLink(fmt.Sprintf("sys/class/%s/%s", c.class, path.Base(c.name)), c.dir)
	h.addLink(fmt.Sprintf("sys/dev/char/%d:%d", c.major, c.minor), c.dir)
}

// groupOf is the group of the k-th node, given the groups of all; nil for a node that
// is open to everyone. Where nodeGIDs are unknown, the nodes have the groups in turn.
func groupOf(node string, gids []uint32, nodeGIDs map[string]uint32, k int) *uint32 {
	if nodeGIDs != nil {
		gid, ok := nodeGIDs[node]
		if !ok {
			return nil
		}
		return &gid
	}
	if len(gids) == 0 {
		return nil
	}
	return &gids[min(k, len(gids)-1)]
}

func (h *host) addFile(name, data string) { h.addEntry(name, File{Data: data}) }

// addLink adds a relative link at path to another path of the tree.
func (h *host) addLink(name, target string) {
	rel, err := filepath.Rel(filepath.Dir(name), target)
	if err != nil && h.err == nil {
		h.err = err
	}
	h.addEntry(name, Link(rel))
}

func (h *host) addEntry(name string, e Entry) {
	if _, ok := h.tree[name]; ok && h.err == nil {
		h.err = fmt.Errorf("%w: the path %q occurs twice", ErrHost, name)
	}
	h.tree[name] = e
}
