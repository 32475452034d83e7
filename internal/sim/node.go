// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// ErrUnknown reports a name that no simulated node has.
var ErrUnknown = errors.New("no such simulated node")

// Names lists the built-in nodes.
func Names() []string {
	var names []string
	for _, p := range builtinPlans() {
		names = append(names, p.name)
	}
	return names
}

// Node returns the simulated node of that name: one of Names, or "sim:AxBxC", which has
// A NUMA nodes with B PCIe switches of C GPUs each, the GPUs of one switch joined by
// MetaXLink.
//
// It is the Node that discovery returns for its HostTree. So links have no bandwidth,
// because mx-smi's matrix has none (62.7 to 63.6 GB/s were measured between two C500),
// and a lost link is missing in Links.
func Node(name string) (gpu.Node, error) {
	if size, ok := strings.CutPrefix(name, gridPrefix); ok {
		p, err := gridPlan(size)
		if err != nil {
			return gpu.Node{}, fmt.Errorf("simulate %q: %w", name, err)
		}
		p.name = name
		return p.node()
	}
	for _, p := range builtinPlans() {
		if p.name == name {
			return p.node()
		}
	}
	return gpu.Node{},
		fmt.Errorf("simulate %q: %w; use %s or %sAxBxC", name, ErrUnknown, strings.Join(Names(), ", "), gridPrefix)
}

// plan is the short description of a node.
type plan struct {
	name string
	kind kind
	// slots are the positions of the GPUs, in the order of addresses.
	slots []slot
	// domains are the sets of GPUs of which MetaXLink joins all pairs, except for those
	// in lost.
	domains [][]int
	lost    [][2]int
	// unavailable are the GPUs whose state is Unavailable in mx-smi.
	unavailable []int
	// probeOrder is the order in which the driver probed the GPUs, which is the order
	// of their card numbers; -1 is a card that was removed since. Empty is the order of
	// addresses.
	probeOrder []int
	// sliced maps the index of a GPU in slice mode to its number of sGPUs, virtual that
	// of another GPU to its number of virtual functions.
	sliced, virtual map[int]int
	// nics are the positions of the network cards, all with RDMA.
	nics []slot
	// noDisplay is true for a host without its own display, so that the first GPU has
	// card0.
	noDisplay bool
}

// slot is the position of a GPU: its NUMA node, and the PCI addresses from the root
// port down to the GPU itself, in domain 0000: "0a:03.0 0c:00.0 0d:00.0 0e:00.0". The
// host bridge has the bus of the first address.
type slot struct {
	numa int
	path string
}

const (
	memoryMiB = 65536
	// video is the group to which the vendor's documents add a container's user. Its
	// number is Debian's. Mode and owner of /dev/mxcd are not published; they are
	// assumed to be those of the DRM nodes.
	video = 44
)

func (p plan) node() (gpu.Node, error) {
	n := gpu.NewNode(p.name)
	n.Driver = &gpu.Driver{Version: p.kind.driver, Mode: gpu.DriverNative, Path: "/opt/mxdriver"}
	n.MACA = &gpu.MACA{Version: p.kind.maca, Path: "/opt/maca"}
	n.Shared = &gpu.Shared{Nodes: []string{"/dev/mxcd"}, GIDs: []uint32{video}}
	drm, more := p.drmNodes()
	for i, s := range p.slots {
		g := gpu.GPU{
			Index: i, UUID: uuid(p.name, i), Serial: serial(p.name, i),
			Model: p.kind.model, Product: gpu.ProductOf(p.kind.model), VBIOS: p.kind.vbios, MemoryMiB: memoryMiB,
			NUMA: s.numa, Healthy: !slices.Contains(p.unavailable, i),
			Nodes: drm[i], GIDs: []uint32{video}, SRIOV: p.kind.sriov,
		}
		if err := s.setPCI(&g); err != nil {
			return gpu.Node{}, fmt.Errorf("simulate %q: GPU %d: %w", p.name, i, err)
		}
		p.addSlices(&g, &more)
		n.GPUs = append(n.GPUs, g)
	}
	if err := p.addSurroundings(&n); err != nil {
		return gpu.Node{}, fmt.Errorf("simulate %q: %w", p.name, err)
	}
	n.Links = p.links()
	graph, _ := topology.New(n)
	graph.MarkDomains(n.GPUs)
	return n, nil
}

// addSurroundings adds the network cards, and the processors near the GPUs.
func (p plan) addSurroundings(n *gpu.Node) error {
	for i, s := range p.nics {
		at := gpu.GPU{NUMA: s.numa}
		if err := s.setPCI(&at); err != nil {
			return fmt.Errorf("network card %d: %w", i, err)
		}
		n.NICs = append(n.NICs, gpu.NIC{
			Name: fmt.Sprintf("mlx5_%d", i), Kind: gpu.NICRDMA,
			BDF: at.BDF, NUMA: at.NUMA, PCIeRoot: at.PCIeRoot, PCIePath: at.PCIePath, PCIeSwitch: at.PCIeSwitch,
		})
	}
	cpus, err := newCPUs(*n)
	for i, g := range n.GPUs {
		n.GPUs[i].CPUs = cpus.cpuList(g.NUMA)
	}
	return err
}

// setPCI sets the PCI facts of g.
func (s slot) setPCI(g *gpu.GPU) error {
	for _, address := range strings.Fields(s.path) {
		if strings.Count(address, ":") == 1 {
			address = "0000:" + address
		}
		b, err := gpu.ParseBDF(address)
		if err != nil {
			return err
		}
		g.PCIePath = append(g.PCIePath, b)
	}
	bridges := len(g.PCIePath) - 1
	g.PCIePath, g.BDF = g.PCIePath[:bridges:bridges], g.PCIePath[bridges]
	g.PCIeRoot = hostBridge(g.PCIePath[0])
	switch {
	case bridges >= 3: // root port, …, upstream port, downstream port
		g.PCIeSwitch = &g.PCIePath[bridges-2]
	case bridges == 2: // root port, bridge
		g.PCIeSwitch = &g.PCIePath[1]
	}
	return nil
}

// hostBridge is sysfs's name of the host bridge with the bus of b.
func hostBridge(b gpu.BDF) string { return fmt.Sprintf("pci%04x:%02x", b.Domain, b.Bus) }

func (p plan) links() []gpu.Link {
	var links []gpu.Link
	for _, domain := range p.domains {
		for at, a := range domain {
			for _, b := range domain[at+1:] {
				if !slices.Contains(p.lost, [2]int{a, b}) && p.virtual[a] == 0 && p.virtual[b] == 0 {
					links = append(links, gpu.Link{A: a, B: b, Kind: topology.MX.String()})
				}
			}
		}
	}
	return links
}

// uuid and serial differ from card to card as real ones do, and are always the same for
// a card. No document shows a real serial number.
func uuid(name string, i int) gpu.UUID { return gpu.UUID("GPU-" + formatUUID(identityBytes(name, i))) }

func serial(name string, i int) string { return fmt.Sprintf("SIM%X", identityBytes(name, i)[16:21]) }

// identityBytes is 32 bytes that are unique to a node's i-th card; -1 is the node itself.
func identityBytes(name string, i int) []byte {
	h := sha256.Sum256(fmt.Appendf(nil, "%s/%d", name, i))
	return h[:]
}

// formatUUID formats the first 16 bytes of h like a UUID.
func formatUUID(h []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
