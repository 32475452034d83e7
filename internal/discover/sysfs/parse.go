// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// metax is MetaX's PCI vendor id.
const metax = 0x9999

// modelName is the vendor's name for a device id, or "9999:xxxx" for an unknown id.
// mx-smi and libmxsml have a better name where they can be asked.
func modelName(device uint64) string {
	if name := gpu.ModelOf(uint16(device)); name != "" {
		return name
	}
	return fmt.Sprintf("%04x:%04x", metax, device)
}

// parseID parses an id as sysfs prints it: "0x9999".
func parseID(what, text string, bits int) (uint64, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	v, err := strconv.ParseUint(digits, 16, bits)
	if !ok || err != nil {
		return 0, fmt.Errorf("%s is %q; want a hexadecimal number of %d bits", what, text, bits)
	}
	return v, nil
}

// isGPU reports whether a PCI class (base class, subclass, interface; 8 bits each) is
// that of a GPU: a display controller or a processing accelerator.
func isGPU(class uint64) bool {
	base := class >> 16
	return base == 0x03 || base == 0x12
}

// parseNUMA parses numa_node. -1 or an absent file (empty text) means that the host
// does not report the NUMA node.
func parseNUMA(text string) (int, error) {
	if text == "" {
		return gpu.NUMAUnknown, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < gpu.NUMAUnknown {
		return gpu.NUMAUnknown, fmt.Errorf("numa_node is %q; want a node number or -1", text)
	}
	return n, nil
}

// parsePlace splits the real path of a function's directory,
// "/sys/devices/pci0000:0a/0000:0a:01.0/0000:0b:00.0", into the host bridge
// ("pci0000:0a") and the bridges below it, root port first. A bridge that opens its own
// PCI domain (a VMD controller) has a second host bridge below it; the last one counts.
func parsePlace(place string, bdf gpu.BDF) (root string, bridges []gpu.BDF, err error) {
	bad := func(why string) (string, []gpu.BDF, error) {
		return "", nil, fmt.Errorf("%q %s", place, why)
	}
	elements := strings.Split(strings.Trim(place, "/"), "/")
	at := -1
	for i, e := range elements {
		if isHostBridge(e) {
			at = i
		}
	}
	if at < 0 {
		return bad("has no host bridge in it")
	}
	for _, e := range elements[at+1:] {
		b, err := gpu.ParseBDF(e)
		if err != nil {
			return bad("is not a chain of PCI addresses below " + elements[at])
		}
		bridges = append(bridges, b)
	}
	if len(bridges) == 0 || bridges[len(bridges)-1] != bdf {
		return bad("does not end in " + bdf.String())
	}
	if len(bridges) == 1 {
		return elements[at], nil, nil // on the root bus itself
	}
	return elements[at], slices.Clip(bridges[:len(bridges)-1]), nil
}

// isHostBridge reports whether a path element has the form "pci<domain>:<bus>".
func isHostBridge(element string) bool {
	rest, ok := strings.CutPrefix(element, "pci")
	if !ok {
		return false
	}
	_, err := gpu.ParseBDF(rest + ":00.0")
	return err == nil
}

// nearestSwitch is the upstream port of the switch directly above a GPU, given the
// bridges above the GPU; nil if the GPU is connected to a root port. A switch appears
// as two bridges: its upstream port and its downstream port.
func nearestSwitch(bridges []gpu.BDF) *gpu.BDF {
	var port gpu.BDF
	n := len(bridges)
	switch {
	case n >= 3:
		port = bridges[n-2]
	case n == 2:
		port = bridges[1]
	default:
		return nil
	}
	return &port
}

// The kinds of DRM node that a GPU has, in the order of a GPU's device nodes.
const (
	cardNode   = "card"
	renderNode = "renderD"
)

// parseDRM splits "card1" and "renderD128" into kind and number; ok is false for other
// entries of a drm directory.
func parseDRM(name string) (kind string, minor int, ok bool) {
	for _, kind := range []string{cardNode, renderNode} {
		digits, found := strings.CutPrefix(name, kind)
		n, err := strconv.ParseUint(digits, 10, 20)
		if found && err == nil && digits == strconv.FormatUint(n, 10) {
			return kind, int(n), true
		}
	}
	return "", 0, false
}

// parseNumbered parses the number in "sgpu3" or "virtfn0", given the word before it.
// Leading zeros are rejected.
func parseNumbered(name, word string) (n int, ok bool) {
	digits, found := strings.CutPrefix(name, word)
	v, err := strconv.ParseUint(digits, 10, 12)
	return int(v), found && err == nil && digits == strconv.FormatUint(v, 10)
}

// sortDRM puts card nodes before render nodes, each by number.
func sortDRM(nodes []drmNode) {
	slices.SortFunc(nodes, func(a, b drmNode) int {
		kind, x, _ := parseDRM(a.name)
		other, y, _ := parseDRM(b.name)
		if kind != other {
			return strings.Compare(kind, other)
		}
		return x - y
	})
}

// parsePhysFn parses the address at the end of the path to which a VF's physfn leads.
func parsePhysFn(target string) (gpu.BDF, error) {
	if target == "" {
		return gpu.BDF{}, errors.New("physfn leads nowhere")
	}
	return gpu.ParseBDF(path.Base(target))
}
