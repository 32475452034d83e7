// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"maps"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// DriverTrees are the entries in which the host of a node with a driver of a version differs
// from the same host without: its devices and what the kernel says of it. The driver's
// user-space part is in neither.
func DriverTrees(node, version string) (with, without Tree, err error) {
	n, err := Node(node)
	if err != nil {
		return nil, nil, err
	}
	n.Driver, n.MACA = &gpu.Driver{Version: version}, nil
	if with, err = HostTree(n); err != nil {
		return nil, nil, err
	}
	with["sys/module/"+module+"/refcnt"] = File{Data: "0\n"}
	with["sys/module/"+module+"/srcversion"] = File{Data: srcversion(version) + "\n"}
	if without, err = HostTree(withoutDriver(n)); err != nil {
		return nil, nil, err
	}
	for p, e := range maps.Clone(with) {
		if without[p] == e {
			delete(with, p)
		}
	}
	maps.DeleteFunc(without, func(p string, _ Entry) bool { _, differs := with[p]; return !differs })
	return with, without, nil
}

// withoutDriver is a node whose driver is not loaded.
func withoutDriver(n gpu.Node) gpu.Node {
	n.Driver, n.Shared = nil, nil
	n.GPUs = append([]gpu.GPU(nil), n.GPUs...)
	for i := range n.GPUs {
		g := &n.GPUs[i]
		g.Nodes, g.GIDs, g.NodeGIDs, g.Slices, g.VFs, g.Mode = nil, nil, nil, nil, nil, ""
	}
	return n
}

// DriverImage are the files of an image with a driver of a version for a built-in node: a
// kernel module for the simulated kernel, and the driver's user-space part; program is as in
// WithSMI.
func DriverImage(node, version string, program []byte) (Tree, error) {
	n, err := Node(node)
	if err != nil {
		return nil, err
	}
	n.Driver = &gpu.Driver{Version: version, Path: "/opt/mxdriver"}
	tree, err := HostTree(n)
	if err != nil {
		return nil, err
	}
	WithSMI(tree, n, program)
	maps.DeleteFunc(tree, func(p string, _ Entry) bool { return !strings.HasPrefix(p, "opt/mxdriver/") })
	tree[path.Join("lib/modules", kernel, "updates", module+".ko")] = File{Data: string(Module(kernel, version))}
	return tree, nil
}

// srcversion stands for the sum of a module's sources.
func srcversion(version string) string { return "SIMULATED" + version }

// Module is the file of a module metax of a version for a kernel, which no real kernel takes.
func Module(kernel, version string) []byte {
	info := strings.Join([]string{
		"name=" + module, "version=" + version, "srcversion=" + srcversion(version), "depends=", "vermagic=" + kernel +
			" SMP preempt mod_unload modversions ", "",
	}, "\x00")
	const names = "\x00.modinfo\x00.shstrtab\x00"
	header := elf.Header64{
		Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64, Shentsize: 64, Shnum: 3,
		Shstrndx: 2,
		Shoff:    uint64(64 + len(info) + len(names)),
	}
	copy(header.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	var b bytes.Buffer
	for _, part := range []any{
		header, []byte(info), []byte(names),
		elf.Section64{},
		elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: 64, Size: uint64(len(info))},
		elf.Section64{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: uint64(64 + len(info)), Size: uint64(len(names))},
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err) // of fixed sizes, into memory
		}
	}
	return b.Bytes()
}
