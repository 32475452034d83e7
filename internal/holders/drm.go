// SPDX-License-Identifier: Apache-2.0

package holders

import "github.com/metax-ctk/container-toolkit/internal/gpu"

// drmMajor is the major number of all nodes below /dev/dri. Of the minor numbers, the kernel
// gives the first 64 to card nodes and those from 128 to 191 to renderD nodes, before others.
const drmMajor = 226

// Cards returns the minor number of each GPU's card node, nil where a GPU has nodes which
// the list of that card's DRM device may not cover: another card node, which is another
// device, or a node that is not of DRM. GPUs without nodes are left out.
func (d Devices) Cards() map[gpu.BDF]uint32 {
	cards, renders := map[gpu.BDF]uint32{}, map[gpu.BDF]int{}
	for n, bdf := range d.numbers {
		_, second := cards[bdf]
		switch {
		case n.Major == drmMajor && n.Minor < 64 && !second:
			cards[bdf] = n.Minor
		case n.Major == drmMajor && n.Minor >= 128 && n.Minor < 192 && renders[bdf] == 0:
			renders[bdf]++
		default:
			return nil
		}
	}
	for bdf := range renders {
		if _, ok := cards[bdf]; !ok {
			return nil
		}
	}
	return cards
}
