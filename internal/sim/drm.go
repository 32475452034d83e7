package sim

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// drmNodes names the DRM nodes of each GPU, in the order of the GPUs, and says
// which minor numbers come next.
func (p plan) drmNodes() (nodes [][]string, next minors) {
	probed := p.probed
	if probed == nil {
		for i := range p.slots {
			probed = append(probed, i)
		}
	}
	m := minors{card: 1, render: 128, more: 192}
	if p.screenless {
		m.card = 0
	}
	nodes = make([][]string, len(p.slots))
	for _, i := range probed {
		pair := m.pair()
		if i >= 0 {
			nodes[i] = pair
		}
	}
	return nodes, m
}

// minors hands out DRM minor numbers as Linux does: 0 to 63 to card nodes, 128
// to 191 to render nodes, and from 192 on to both, a render node coming before
// its card node. So beyond 63 GPUs the numbers drift apart.
type minors struct{ card, render, more int }

// pair are the device nodes of the next minors.
func (m *minors) pair() []string {
	render := m.take(&m.render, 192)
	card := m.take(&m.card, 64)
	return []string{fmt.Sprintf("/dev/dri/card%d", card), fmt.Sprintf("/dev/dri/renderD%d", render)}
}

func (m *minors) take(next *int, end int) int {
	if *next == end {
		next = &m.more
	}
	*next++
	return *next - 1
}

// drmMajor is the major number of all DRM nodes; the minor number is the one in
// their name.
const drmMajor = 226

// drm adds a DRM node of the PCI function f, by its path below /dev.
func (h *host) drm(f function, node string, gid *uint32) error {
	name, ok := strings.CutPrefix(node, "/dev/dri/")
	kind, digits := "card", strings.TrimPrefix(name, "card")
	if rest, render := strings.CutPrefix(name, "renderD"); render {
		kind, digits = "render", rest
	}
	minor, err := strconv.ParseUint(digits, 10, 20)
	if !ok || err != nil || strconv.FormatUint(minor, 10) != digits || digits == name {
		return fmt.Errorf("%w: device node %q is not of the form /dev/dri/card1 or /dev/dri/renderD128", ErrHost, node)
	}
	dir := path.Join(f.dir(), "drm", name)
	h.link(dir+"/device", f.dir())
	h.link(fmt.Sprintf("dev/dri/by-path/pci-%s-%s", f.bdf, kind), "dev/dri/"+name)
	h.char(char{dir: dir, class: "drm", name: "dri/" + name, kind: "drm_minor", major: drmMajor, minor: uint32(minor), gid: gid})
	return nil
}
