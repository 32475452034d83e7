// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// drmNodes returns the DRM nodes of each GPU, in the order of the GPUs, and the next
// free minor numbers.
func (p plan) drmNodes() (nodes [][]string, next minors) {
	probeOrder := p.probeOrder
	if probeOrder == nil {
		for i := range p.slots {
			probeOrder = append(probeOrder, i)
		}
	}
	m := minors{card: 1, render: 128, more: 192}
	if p.noDisplay {
		m.card = 0
	}
	nodes = make([][]string, len(p.slots))
	for _, i := range probeOrder {
		pair := m.nextPair()
		if i >= 0 {
			nodes[i] = pair
		}
	}
	return nodes, m
}

// minors assigns DRM minor numbers as Linux does: 0 to 63 to card nodes, 128 to 191 to
// render nodes, and from 192 on to both, the render node before its card node. So with
// more than 64 GPUs the distance between the two numbers changes.
type minors struct{ card, render, more int }

// nextPair returns the device nodes of the next minor numbers.
func (m *minors) nextPair() []string {
	render := m.next(&m.render, 192)
	card := m.next(&m.card, 64)
	return []string{fmt.Sprintf("/dev/dri/card%d", card), fmt.Sprintf("/dev/dri/renderD%d", render)}
}

func (m *minors) next(next *int, end int) int {
	if *next == end {
		next = &m.more
	}
	*next++
	return *next - 1
}

// drmMajor is the major number of all DRM nodes; the minor number is the one in their name.
const drmMajor = 226

// addDRMNode adds a DRM node, by its path below /dev, of the PCI function f.
func (h *host) addDRMNode(f function, node string, gid *uint32) error {
	name, ok := strings.CutPrefix(node, "/dev/dri/")
	kind, digits := "card", strings.TrimPrefix(name, "card")
	if rest, render := strings.CutPrefix(name, "renderD"); render {
		kind, digits = "render", rest
	}
	minor, err := strconv.ParseUint(digits, 10, 20)
	if !ok || err != nil || strconv.FormatUint(minor, 10) != digits || digits == name {
		return fmt.Errorf("%w: device node %q is not of the form /dev/dri/card1 or /dev/dri/renderD128", ErrHost, node)
	}
	dir := path.Join(f.sysfsDir(), "drm", name)
	h.addLink(dir+"/device", f.sysfsDir())
	h.addLink(fmt.Sprintf("dev/dri/by-path/pci-%s-%s", f.bdf, kind), "dev/dri/"+name)
	h.addCharDevice(
		char{dir: dir, class: "drm", name: "dri/" + name, kind: "drm_minor", major: drmMajor, minor: uint32(minor), gid: gid})
	return nil
}
