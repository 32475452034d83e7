package sim

import (
	"fmt"
	"path"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// module is the name of the kernel driver and of its module.
const module = "metax"

// HostTree returns the file system of the host that n describes: sysfs with its
// links, /proc as far as the driver shows in it, device nodes, the driver's
// user part with an mx-smi, and MXMACA. Discovery on it gives n back.
//
// What n leaves out is left out (no Driver: no mx-smi), but for the way from a
// host bridge to a GPU, which is filled in. What contradicts itself is an
// error.
func HostTree(n gpu.Node) (Tree, error) {
	h, err := newHost(n)
	if err != nil {
		return nil, fmt.Errorf("simulate host of node %q: %w", n.Name, err)
	}
	return h.tree, nil
}

// host is a host tree in the making.
type host struct {
	node   gpu.Node
	tree   Tree
	cpus   cpus
	fabric *fabric
	sgpus  uint32 // character devices of sGPUs so far
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
	h.system()
	h.numa()
	for _, f := range h.fabric.all() {
		h.pci(f)
	}
	if err := h.devices(); err != nil {
		return nil, err
	}
	h.software()
	if h.err != nil {
		return nil, h.err
	}
	return h, h.tree.Check()
}

// devices adds what the drivers made of the PCI functions.
func (h *host) devices() error {
	for i, g := range h.node.GPUs {
		f := h.fabric.gpus[i]
		if err := h.virtual(f, g); err != nil {
			return fmt.Errorf("GPU %d: %w", i, err)
		}
		if err := h.sliced(f, g); err != nil {
			return fmt.Errorf("GPU %d: %w", i, err)
		}
		for k, node := range g.Nodes {
			if err := h.drm(f, node, owner(g.GIDs, k)); err != nil {
				return fmt.Errorf("GPU %d: %w", i, err)
			}
		}
	}
	cards := 0
	for _, f := range h.fabric.all() {
		switch f.part {
		case display:
			group := uint32(video)
			if err := h.drm(f, "/dev/dri/card0", &group); err != nil {
				return err
			}
		case network:
			name := fmt.Sprintf("mlx5_%d", cards)
			cards++
			dir := path.Join(f.dir(), "infiniband", name)
			h.link(dir+"/device", f.dir())
			h.link("sys/class/infiniband/"+name, dir)
		}
	}
	if s := h.node.Shared; s != nil {
		for k, node := range s.Nodes {
			name := path.Base(node)
			h.char(char{
				dir: path.Join("sys/devices/virtual", name, name), class: name, name: node[len("/dev/"):],
				major: sharedMajor, minor: uint32(k), gid: owner(s.GIDs, k),
			})
		}
	}
	return nil
}

// sharedMajor is the major number of /dev/mxcd and its like. The real one is
// not published and is handed out at load time; this is the last of the range
// for that, so that no driver of the machine below stands behind the node.
const sharedMajor = 511

// char is a character device as sysfs shows it.
type char struct {
	dir, class, name, kind string // name is the path below /dev, kind is DEVTYPE
	major, minor           uint32
	gid                    *uint32 // nil: open to everyone
}

// char adds a device: its node in /dev, its directory, and the links by class
// and by number.
func (h *host) char(c char) {
	node := Device{Major: c.major, Minor: c.minor, Perm: 0o666}
	if c.gid != nil {
		node.Perm, node.GID = 0o660, *c.gid
	}
	h.add("dev/"+c.name, node)
	uevent := fmt.Sprintf("MAJOR=%d\nMINOR=%d\nDEVNAME=%s\n", c.major, c.minor, c.name)
	if c.kind != "" {
		uevent += "DEVTYPE=" + c.kind + "\n"
	}
	h.file(c.dir+"/uevent", uevent)
	h.file(c.dir+"/dev", fmt.Sprintf("%d:%d\n", c.major, c.minor))
	h.link(c.dir+"/subsystem", "sys/class/"+c.class)
	h.link(fmt.Sprintf("sys/class/%s/%s", c.class, path.Base(c.name)), c.dir)
	h.link(fmt.Sprintf("sys/dev/char/%d:%d", c.major, c.minor), c.dir)
}

// owner is the group of the k-th of the nodes that gids own; nil is a node that
// is open to everyone.
func owner(gids []uint32, k int) *uint32 {
	if len(gids) == 0 {
		return nil
	}
	return &gids[min(k, len(gids)-1)]
}

func (h *host) file(path, data string) { h.add(path, File{Data: data}) }

// link adds a relative link at path to another path of the tree.
func (h *host) link(path, target string) {
	rel, err := filepath.Rel(filepath.Dir(path), target)
	if err != nil && h.err == nil {
		h.err = err
	}
	h.add(path, Link(rel))
}

func (h *host) add(path string, e Entry) {
	if _, ok := h.tree[path]; ok && h.err == nil {
		h.err = fmt.Errorf("%w: two things are called %q", ErrHost, path)
	}
	h.tree[path] = e
}
