//go:build cgo

package rival

import (
	"fmt"

	"github.com/NVIDIA/go-gpuallocator/gpuallocator"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// nvidia are the policies of NVIDIA's go-gpuallocator. Only what discovers GPUs needs a
// driver; the module as a whole needs C to build.
func nvidia(n Node) ([]allocator, error) {
	devices := make([]*gpuallocator.Device, n.GPUs)
	for i := range devices {
		devices[i] = &gpuallocator.Device{Index: i, Links: map[int][]gpuallocator.P2PLink{}}
		devices[i].UUID = fmt.Sprintf("GPU-%d", i)
	}
	for i, a := range devices {
		for j, b := range devices {
			if i == j {
				continue
			}
			// As its discovery does: the path over the host, and NVLink besides.
			host, ok := paths[n.host(min(i, j), max(i, j))]
			if !ok {
				return nil, fmt.Errorf("link GPU %d to %d: no word for %v", i, j, n.host(min(i, j), max(i, j)))
			}
			a.Links[j] = append(a.Links[j], p2pLink(b, host))
			if direct := n.direct(min(i, j), max(i, j)); direct > 0 {
				a.Links[j] = append(a.Links[j], p2pLink(b, sameBoard+uint(direct)))
			}
		}
	}
	best := policy("best effort", devices, gpuallocator.NewBestEffortPolicy())
	best.work = bestEffortWork
	all := []allocator{best, policy("simple", devices, gpuallocator.NewSimplePolicy())}
	if n.Name == "dgx1v" {
		all = append(all, policy("static DGX-1", devices, gpuallocator.NewStaticDGX1Policy(gpuallocator.GPUTypeVolta)))
	}
	return all, nil
}

// sameBoard is the type of link before those of one and more NVLinks.
const sameBoard = 6

// paths are the types of link by way of the host.
var paths = map[topology.Kind]uint{
	topology.SYS: 1, topology.NODE: 2, topology.PHB: 3, topology.PXB: 4, topology.PIX: 5,
}

func p2pLink(to *gpuallocator.Device, kind uint) gpuallocator.P2PLink {
	l := gpuallocator.P2PLink{GPU: to}
	setKind(&l.Type, kind)
	return l
}

// setKind sets a type of link. The module does not export that Go type, so only inference
// can name it.
func setKind[T ~uint](t *T, kind uint) { *t = T(kind) }

func policy(name string, devices []*gpuallocator.Device, p gpuallocator.Policy) allocator {
	return allocator{name: name, ask: func(free uint32, k int) question {
		var available, got []*gpuallocator.Device
		for _, g := range members(free) {
			available = append(available, devices[g])
		}
		return question{
			pick: func() { got = p.Allocate(available, nil, k) },
			answer: func() []int {
				gpus := []int{}
				for _, d := range got {
					if d == nil {
						gpus = append(gpus, -1)
						continue
					}
					gpus = append(gpus, d.Index)
				}
				return gpus
			},
		}
	}}
}
