// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"maps"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// activeVF is the state of a virtual function that works.
const activeVF = "Active"

// parseVFList parses gpuvf, the driver's list of the virtual functions of a GPU: the state of
// each by address. Lines of other kinds are ignored.
func parseVFList(text string) map[gpu.BDF]string {
	states := map[gpu.BDF]string{}
	var last gpu.BDF
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch value = strings.TrimSpace(value); key {
		case "BusId":
			last, _ = gpu.ParseBDF(value)
			if last != (gpu.BDF{}) {
				states[last] = ""
			}
		case "VF State":
			if last != (gpu.BDF{}) {
				states[last] = value
			}
		}
	}
	return states
}

// compareVFs warns if the driver's list of the virtual functions of a GPU is not that of the
// kernel, which counts, or calls one of them inactive. text is the driver's list; empty
// without.
func (r *reader) compareVFs(g gpu.GPU, text string) {
	if text == "" {
		return
	}
	states := parseVFList(text)
	for _, b := range g.VFs {
		state, found := states[b]
		switch {
		case !found:
			r.warn("virtual function %s: the driver of GPU %s does not list it in gpuvf", b, g.BDF)
		case state != "" && state != activeVF:
			r.warn("virtual function %s: its state is %.40q in gpuvf of GPU %s", b, state, g.BDF)
		}
	}
	for _, b := range slices.SortedFunc(maps.Keys(states), gpu.BDF.Compare) {
		if !slices.Contains(g.VFs, b) {
			r.warn("virtual function %s: the driver of GPU %s lists it in gpuvf, but the kernel does not have it", b, g.BDF)
		}
	}
}
