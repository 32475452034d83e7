// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// gridPrefix begins the name of a generated node, "sim:2x2x4".
const gridPrefix = "sim:"

// ErrSize reports a generated node of an impossible size.
var ErrSize = errors.New("bad size")

// Limits of a grid. A NUMA node has one PCI domain with 256 buses; a switch takes two,
// one more for each GPU, and one stays free for a card, and two are for the root and the
// display. A bus has 32 device numbers; the bridge itself and the display take two on
// the root bus, and one stays free on a switch's bus.
const (
	maxGrid     = 1024
	maxSwitches = 30
	maxOnSwitch = 31
	maxBuses    = 254
)

func gridPlan(size string) (plan, error) {
	bad := func(format string, a ...any) (plan, error) {
		return plan{}, fmt.Errorf("%w: %s", ErrSize, fmt.Sprintf(format, a...))
	}
	parts := strings.Split(size, "x")
	var dim [3]int
	for i, s := range parts {
		v, err := strconv.Atoi(s)
		if len(parts) != len(dim) || err != nil || v < 1 || strconv.Itoa(v) != s {
			return bad("want three numbers from 1: NUMA nodes x switches in each x GPUs on each, such as %s2x2x4", gridPrefix)
		}
		dim[i] = v
	}
	numas, switches, each := dim[0], dim[1], dim[2]
	switch {
	case numas > maxGrid:
		return bad("%d NUMA nodes; at most %d", numas, maxGrid)
	case switches > maxSwitches:
		return bad("%d switches in a NUMA node; at most %d", switches, maxSwitches)
	case each > maxOnSwitch:
		return bad("%d GPUs on a switch; at most %d", each, maxOnSwitch)
	case numas*switches*each > maxGrid:
		return bad("%d GPUs; at most %d", numas*switches*each, maxGrid)
	case switches*(each+3) > maxBuses:
		return bad("%d switches of %d GPUs take more PCI buses than a NUMA node has", switches, each)
	}
	p := plan{kind: c500, slots: gridSlots(numas, switches, each)}
	if each > 1 {
		p.domains = consecutiveSets(numas*switches*each, each)
	}
	return p, nil
}

// gridSlots has a PCI domain for each NUMA node, with a root port for each switch.
func gridSlots(numas, switches, each int) []slot {
	var slots []slot
	for numa := range numas {
		bus := 1
		for s := range switches {
			up, down := bus, bus+1
			for g := range each {
				slots = append(slots, slot{numa, fmt.Sprintf("%04x:00:%02x.0 %04x:%02x:00.0 %04x:%02x:%02x.0 %04x:%02x:00.0",
					numa, s+1, numa, up, numa, down, g, numa, down+1+g)})
			}
			bus = down + each + 2 // one stays free
		}
	}
	return slots
}
