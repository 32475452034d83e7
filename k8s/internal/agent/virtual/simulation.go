// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// Simulation is the bus of a simulated node, whose sysfs are files: it changes all of them
// that a kernel changes when one is written. It refuses what a kernel refuses, with the same
// errors.
type Simulation struct{ Host *hostfs.Root }

// SetVFs implements Bus.
func (s Simulation) SetVFs(b gpu.BDF, n int) error {
	c, gpus, err := s.find(b)
	switch {
	case err != nil:
		return err
	case c.driver != driver && c.driver != pfDriver:
		return fmt.Errorf("GPU %s: %w", b, unix.ENOENT)
	case n < 0 || n > c.most:
		return fmt.Errorf("GPU %s: %w", b, unix.ERANGE)
	case n > 0 && c.count > 0:
		return fmt.Errorf("GPU %s: %w", b, unix.EBUSY)
	}
	g := &gpus[c.Index]
	g.SRIOV, g.VFs = gpu.SRIOVOff, nil
	g.Slices = slices.DeleteFunc(g.Slices, func(s gpu.Slice) bool { return s.Kind == gpu.SliceVF })
	minors, err := s.minors()
	if err != nil {
		return err
	}
	for k := range n {
		id := int(b.Device)<<3 + int(b.Function) + k + 1
		vf := gpu.BDF{Domain: b.Domain, Bus: b.Bus, Device: uint8(id >> 3), Function: uint8(id & 7)}
		g.SRIOV, g.VFs = gpu.SRIOVOn, append(g.VFs, vf)
		g.Slices = append(g.Slices,
			gpu.Slice{Kind: gpu.SliceVF, Index: k, BDF: vf, Nodes: minors.pair(), GIDs: slices.Clone(g.GIDs)})
	}
	return s.change(c, gpus, nil)
}

// driver is that of a whole GPU, pfDriver that of one with virtual functions.
const driver, pfDriver = "metax", "MXGVM"

// Bind implements Bus.
func (s Simulation) Bind(b gpu.BDF, to string) error {
	c, gpus, err := s.find(b)
	if err != nil || c.driver == to || (to == "" && c.driver == driver) {
		return err
	}
	group, err := s.Host.Resolve(path.Join(sysfs.DevicesDir, b.String(), "iommu_group"))
	if err != nil && to == vfioDriver {
		return fmt.Errorf("GPU %s has no IOMMU group: %w", b, unix.EINVAL)
	}
	g := &gpus[c.Index]
	g.Nodes, g.GIDs, g.NodeGIDs, g.Mode = nil, nil, nil, gpu.ModeVFIO
	if to == "" {
		minors, err := s.minors()
		if err != nil {
			return err
		}
		g.Mode, g.Healthy, g.Nodes, g.GIDs = "", true, minors.again(c.Index), group0(gpus)
	}
	number, _ := strconv.ParseUint(path.Base(group), 10, 16)
	return s.change(c, gpus,
		sim.Tree{"dev/vfio/" + path.Base(group): sim.Device{Major: vfioMajor, Minor: uint32(number), Perm: 0o600}})
}

// vfioMajor is the major number of the nodes of IOMMU groups, which a kernel assigns when it
// starts.
const vfioMajor = 509

// group0 is the group that nodes of GPUs have: that of the first one that has some.
func group0(gpus []gpu.GPU) []uint32 {
	for _, g := range gpus {
		if len(g.GIDs) > 0 {
			return slices.Clone(g.GIDs)
		}
	}
	return []uint32{44}
}

// find returns a GPU, and a copy of all that can be changed.
func (s Simulation) find(b gpu.BDF) (card, []gpu.GPU, error) {
	cards, err := readCards(s.Host)
	if err != nil {
		return card{}, nil, err
	}
	var found *card
	gpus := make([]gpu.GPU, len(cards))
	for i, c := range cards {
		if c.BDF == b {
			found = &cards[i]
		}
		gpus[i] = c.GPU
		gpus[i].Slices = slices.Clone(c.Slices)
	}
	if found == nil {
		return card{}, nil, fmt.Errorf("GPU %s: %w", b, unix.ENODEV)
	}
	return *found, gpus, nil
}

// change makes the files those of the GPUs as they are to be. bound are files that exist while
// the GPU is bound to vfio-pci.
func (s Simulation) change(c card, gpus []gpu.GPU, bound sim.Tree) error {
	kernel, err := sysfs.Read(s.Host)
	if err != nil {
		return err
	}
	var trees [2]sim.Tree
	for i, gpus := range [][]gpu.GPU{kernel.GPUs, gpus} {
		n := gpu.NewNode("")
		n.GPUs, n.Shared = gpus, kernel.Shared
		if trees[i], err = sim.HostTree(n); err != nil {
			return err
		}
		// Of /proc the agent has what its own kernel says, which is read-only.
		for name := range trees[i] {
			if strings.HasPrefix(name, "proc/") {
				delete(trees[i], name)
			}
		}
		if gpus[c.Index].SetAside() {
			for name, e := range bound {
				trees[i][name] = e
			}
		}
	}
	return trees[1].Change(s.Host.Dir(), trees[0])
}

// minors are the minor numbers of DRM that are in use.
type minors map[int]bool

func (s Simulation) minors() (minors, error) {
	names, err := s.Host.ReadDir("/dev/dri")
	if err != nil {
		return nil, err
	}
	used := minors{}
	for _, name := range names {
		digits := strings.TrimPrefix(strings.TrimPrefix(name, "card"), "renderD")
		if n, err := strconv.Atoi(digits); err == nil {
			used[n] = true
		}
	}
	return used, nil
}

// pair returns the device nodes of the lowest free numbers: of 0 to 63 and of 128 to 191, and
// above 191 if those are used up.
func (m minors) pair() []string {
	card, render := m.next(0, 64), m.next(128, 192)
	return []string{fmt.Sprintf("/dev/dri/card%d", card), fmt.Sprintf("/dev/dri/renderD%d", render)}
}

// again returns the device nodes that the GPU with an index has when a simulated node is made,
// by which its mx-smi knows it, or others if they are taken.
func (m minors) again(index int) []string {
	if m[1+index] || m[128+index] {
		return m.pair()
	}
	return []string{fmt.Sprintf("/dev/dri/card%d", 1+index), fmt.Sprintf("/dev/dri/renderD%d", 128+index)}
}

func (m minors) next(from, end int) int {
	for n := from; ; n++ {
		if n == end {
			n = max(n, 192)
		}
		if !m[n] {
			m[n] = true
			return n
		}
	}
}
