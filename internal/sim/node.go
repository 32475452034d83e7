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
	for _, p := range builtin() {
		names = append(names, p.name)
	}
	return names
}

// Node returns the simulated node of that name: one of Names, or "sim:AxBxC",
// which has A NUMA nodes with B PCIe switches of C GPUs each, the GPUs of one
// switch joined by MetaXLink.
//
// It is what discovery finds on its HostTree. So a link has no bandwidth, which
// mx-smi's matrix does not state (62.7 to 63.6 GB/s were measured between two
// C500), and a link that is lost has no row.
func Node(name string) (gpu.Node, error) {
	if size, ok := strings.CutPrefix(name, gridPrefix); ok {
		p, err := gridPlan(size)
		if err != nil {
			return gpu.Node{}, fmt.Errorf("simulate %q: %w", name, err)
		}
		p.name = name
		return p.node()
	}
	for _, p := range builtin() {
		if p.name == name {
			return p.node()
		}
	}
	return gpu.Node{}, fmt.Errorf("simulate %q: %w; there are %s, and %sAxBxC", name, ErrUnknown, strings.Join(Names(), ", "), gridPrefix)
}

// plan is a node in short.
type plan struct {
	name         string
	model        string
	driver, maca string
	// slots say where each GPU sits, in BDF order.
	slots []slot
	// domains are the sets of GPUs that MetaXLink joins each with each, but for
	// the pairs in lost.
	domains [][]int
	lost    [][2]int
	// unavailable are the GPUs that mx-smi calls so.
	unavailable []int
	// probed is the order in which the driver met the GPUs, which is the order
	// of their card numbers; -1 is a card that has gone since. Empty is BDF order.
	probed []int
	// sliced has the number of sGPUs of each GPU in slice mode, virtual that of
	// the virtual functions of each GPU that has some, by index.
	sliced, virtual map[int]int
	// screenless is a host without a display of its own, which has card0.
	screenless bool
}

// slot is a place for a GPU: the NUMA node, and the PCI addresses from the root
// port down to the GPU itself, domain 0000: "0a:03.0 0c:00.0 0d:00.0 0e:00.0".
// The host bridge's bus is that of the first.
type slot struct {
	numa int
	path string
}

const (
	memoryMiB = 65536
	// video is the group that the vendor's documents add a container's user to.
	// Its number is Debian's. Mode and owner of /dev/mxcd are not published;
	// they are taken to be those of the DRM nodes, so that groups matter for it.
	video = 44
)

func (p plan) node() (gpu.Node, error) {
	n := gpu.NewNode(p.name)
	n.Driver = &gpu.Driver{Version: p.driver, Path: "/opt/mxdriver"}
	n.MACA = &gpu.MACA{Version: p.maca, Path: "/opt/maca"}
	n.Shared = &gpu.Shared{Nodes: []string{"/dev/mxcd"}, GIDs: []uint32{video}}
	drm, more := p.drmNodes()
	for i, s := range p.slots {
		g := gpu.GPU{
			Index: i, UUID: uuid(p.name, i), Serial: serial(p.name, i),
			Model: p.model, MemoryMiB: memoryMiB,
			NUMA: s.numa, Healthy: !slices.Contains(p.unavailable, i),
			Nodes: drm[i], GIDs: []uint32{video},
		}
		if err := s.put(&g); err != nil {
			return gpu.Node{}, fmt.Errorf("simulate %q: GPU %d: %w", p.name, i, err)
		}
		p.divide(&g, &more)
		n.GPUs = append(n.GPUs, g)
	}
	n.Links = p.links()
	graph, _ := topology.New(n)
	graph.MarkDomains(n.GPUs)
	return n, nil
}

// put states the slot's PCI facts in g.
func (s slot) put(g *gpu.GPU) error {
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

// hostBridge names the host bridge whose bus b is on, as sysfs does.
func hostBridge(b gpu.BDF) string { return fmt.Sprintf("pci%04x:%02x", b.Domain, b.Bus) }

func (p plan) links() []gpu.Link {
	var links []gpu.Link
	for _, domain := range p.domains {
		for at, a := range domain {
			for _, b := range domain[at+1:] {
				if !slices.Contains(p.lost, [2]int{a, b}) {
					links = append(links, gpu.Link{A: a, B: b, Kind: topology.MX.String()})
				}
			}
		}
	}
	return links
}

// uuid and serial are as unlike from card to card as real ones, but always the
// same. No document shows a real serial number.
func uuid(name string, i int) gpu.UUID { return gpu.UUID("GPU-" + dashed(identity(name, i))) }

func serial(name string, i int) string { return fmt.Sprintf("SIM%X", identity(name, i)[16:21]) }

// identity is 32 bytes that belong to a node's i-th card; -1 is the node itself.
func identity(name string, i int) []byte {
	h := sha256.Sum256(fmt.Appendf(nil, "%s/%d", name, i))
	return h[:]
}

// dashed is the first 16 bytes of h in the form of a UUID.
func dashed(h []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
