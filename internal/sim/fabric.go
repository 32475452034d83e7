// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// ErrHost reports a Node that contradicts itself, so that no host can have it.
var ErrHost = errors.New("impossible host")

// fabric is the PCI hierarchy of a host: that of its GPUs and network cards, and a display
// on a free port.
type fabric struct {
	functions  map[gpu.BDF]function
	gpus, nics []function // by index
	// devices has a bit for each device number in use, by bus; a bus is represented by
	// the address of its device 0.
	devices map[gpu.BDF]uint32
}

// newFabric builds the hierarchy for the GPUs of a Node. A GPU without a complete chain
// of bridges gets a short chain that agrees with what the Node states.
func newFabric(n gpu.Node) (*fabric, error) {
	f := &fabric{functions: map[gpu.BDF]function{}, devices: map[gpu.BDF]uint32{}}
	for _, g := range n.GPUs {
		if err := f.addGPU(g); err != nil {
			return nil, fmt.Errorf("GPU %d: %w", g.Index, err)
		}
	}
	for _, c := range n.NICs {
		at := gpu.GPU{BDF: c.BDF, NUMA: c.NUMA, PCIeRoot: c.PCIeRoot, PCIePath: c.PCIePath, PCIeSwitch: c.PCIeSwitch}
		nic, err := f.addFunction(at, network)
		if err != nil {
			return nil, fmt.Errorf("network card %s: %w", c.Name, err)
		}
		f.nics = append(f.nics, nic)
	}
	if !slices.ContainsFunc(n.GPUs, func(g gpu.GPU) bool { return slices.Contains(g.Nodes, "/dev/dri/card0") }) {
		if err := f.addDisplay(); err != nil {
			return nil, err
		}
	}
	for _, fn := range f.functions {
		for _, b := range fn.bridges {
			if bridge := f.functions[b]; fn.bdf.Bus > bridge.subordinate {
				bridge.subordinate = fn.bdf.Bus
				f.functions[b] = bridge
			}
		}
	}
	return f, nil
}

// sortedFunctions returns the functions in the order of their addresses.
func (f *fabric) sortedFunctions() []function {
	var all []function
	for _, fn := range f.functions {
		all = append(all, fn)
	}
	slices.SortFunc(all, func(a, b function) int { return a.bdf.Compare(b.bdf) })
	return all
}

func (f *fabric) addGPU(g gpu.GPU) error {
	if g.BDF == (gpu.BDF{}) {
		return fmt.Errorf(`%w: no PCI address; add a "bdf", by which sysfs names devices`, ErrHost)
	}
	kind := gpuType(g.Model)
	if len(g.Nodes) == 0 {
		kind.driver = "" // no driver is bound
	}
	if g.SetAside() {
		kind.driver = "vfio-pci"
	}
	if kind.driver == module && len(g.VFs) > 0 {
		kind.driver = pfModule
	}
	physical, err := f.addFunction(g, kind)
	if err != nil {
		return err
	}
	f.gpus = append(f.gpus, physical)
	for _, b := range g.VFs {
		// A virtual function without device nodes is not bound to a driver, as before
		// it is passed to a virtual machine.
		virtual := physical
		virtual.bdf, virtual.driver = b, ""
		virtual.device = gpu.VFDevice(physical.device)
		if len(sliceAt(g, b).Nodes) > 0 {
			virtual.driver = module
		}
		if err := f.add(virtual); err != nil {
			return err
		}
	}
	return nil
}

// addFunction adds a card at the place of at, with the bridges above it.
func (f *fabric) addFunction(at gpu.GPU, kind pciType) (function, error) {
	root, bridges, err := f.chain(at)
	if err != nil {
		return function{}, err
	}
	for i, b := range bridges {
		next := at.BDF
		if i+1 < len(bridges) {
			next = bridges[i+1]
		}
		bridge := function{
			pciType: switchPort, bdf: b, root: root, bridges: bridges[:i:i], numa: at.NUMA,
			secondary: next.Bus,
		}
		if i == 0 {
			bridge.pciType = rootPort
		}
		if err := f.addBridge(bridge); err != nil {
			return function{}, err
		}
	}
	card := function{pciType: kind, bdf: at.BDF, root: root, bridges: bridges, numa: at.NUMA}
	return card, f.add(card)
}

// chain returns the host bridge and the bridges from there to the GPU. If the Node
// states only the switch, a root port above it and a port for the GPU are added. If the
// Node does not state the host bridge, it is that of the first bus.
func (f *fabric) chain(g gpu.GPU) (root string, bridges []gpu.BDF, err error) {
	bridges = g.PCIePath
	if up := g.PCIeSwitch; len(bridges) == 0 && up != nil {
		port := gpu.BDF{Domain: up.Domain, Bus: up.Bus - 1, Device: 1}
		down, ok := f.free(gpu.BDF{Domain: up.Domain, Bus: up.Bus + 1})
		if up.Bus == 0 || !ok {
			return "", nil, fmt.Errorf(`%w: no room around the switch %s; give the whole "pciePath"`, ErrHost, up)
		}
		bridges = []gpu.BDF{port, *up, down}
	}
	root = g.PCIeRoot
	if root == "" {
		root = hostBridge(append(slices.Clone(bridges), g.BDF)[0])
	}
	bus, err := gpu.ParseBDF(strings.TrimPrefix(root, "pci") + ":00.0")
	if err != nil || hostBridge(bus) != root {
		return "", nil, fmt.Errorf(`%w: host bridge %q; want the form "pci0000:0a"`, ErrHost, root)
	}
	f.devices[bus] |= 1 // the host bridge itself
	return root, bridges, nil
}

func (f *fabric) addBridge(b function) error {
	if b.secondary == 0 {
		return fmt.Errorf("%w: bridge %s leads to bus 00", ErrHost, b.bdf)
	}
	have, ok := f.functions[b.bdf]
	switch {
	case !ok:
		return f.add(b)
	case have.secondary == 0:
		return fmt.Errorf("%w: %s is both a bridge and another function", ErrHost, b.bdf)
	case have.sysfsDir() != b.sysfsDir():
		return fmt.Errorf("%w: %s is at %s and at %s", ErrHost, b.bdf, have.sysfsDir(), b.sysfsDir())
	case have.secondary != b.secondary:
		return fmt.Errorf("%w: bridge %s leads to bus %02x and to bus %02x", ErrHost, b.bdf, have.secondary, b.secondary)
	}
	return nil
}

func (f *fabric) add(fn function) error {
	if have, ok := f.functions[fn.bdf]; ok {
		return fmt.Errorf("%w: %s is at %s and at %s", ErrHost, fn.bdf, have.sysfsDir(), fn.sysfsDir())
	}
	f.functions[fn.bdf] = fn
	f.devices[gpu.BDF{Domain: fn.bdf.Domain, Bus: fn.bdf.Bus}] |= 1 << fn.bdf.Device
	return nil
}

// free returns the first free address on a bus.
func (f *fabric) free(bus gpu.BDF) (gpu.BDF, bool) {
	bus.Device = uint8(bits.TrailingZeros32(^f.devices[bus]))
	return bus, bus.Device < 32
}

// addDisplay puts the board's own display beside the first GPU's root port. Because of
// it, card numbers of GPUs do not begin at 0.
func (f *fabric) addDisplay() error {
	for _, g := range f.gpus {
		if len(g.bridges) > 0 {
			return f.attach(f.functions[g.bridges[0]], display)
		}
	}
	return nil
}

// attach puts a card on a new port beside the given one, if the bus has a free device
// number and the domain a free bus.
func (f *fabric) attach(beside function, card pciType) error {
	port := beside
	addr, ok := f.free(gpu.BDF{Domain: port.bdf.Domain, Bus: port.bdf.Bus})
	if !ok {
		return nil
	}
	for b := int(port.bdf.Bus) + 1; b < 256; b++ {
		bus := gpu.BDF{Domain: port.bdf.Domain, Bus: uint8(b)}
		if _, used := f.devices[bus]; used {
			continue
		}
		port.bdf, port.secondary = addr, bus.Bus
		if err := f.add(port); err != nil {
			return err
		}
		below := append(slices.Clone(port.bridges), port.bdf)
		return f.add(function{pciType: card, bdf: bus, root: port.root, bridges: below, numa: port.numa})
	}
	return nil
}
