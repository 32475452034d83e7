// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Head has the names of the columns of a Row.
var Head = []string{"GPU", "MODEL", "UTIL", "MEMORY", "TEMP", "POWER", "CLOCK", "LINKS", "USED BY"}

// Row is the GPU as a row of a table; a value that is missing is "-".
func (g GPU) Row() []string {
	row := []string{strconv.Itoa(g.Index), cmp.Or(terminal.Line(g.Model), "-"), "-", "-", "-", "-", "-", "-", g.usedBy()}
	r := g.Reading
	if r == nil {
		return row
	}
	row[2] = withUnit(r.UtilizationPercent, "%")
	if r.MemoryUsedMiB != nil || r.MemoryTotalMiB != nil {
		row[3] = withUnit(r.MemoryUsedMiB, "") + "/" + withUnit(r.MemoryTotalMiB, " MiB")
	}
	row[4] = withUnit(r.TemperatureC, "C")
	row[5] = withUnit(r.PowerW, " W")
	if r.PowerW != nil && r.PowerLimitW != nil {
		row[5] = fmt.Sprintf("%d/%d W", *r.PowerW, *r.PowerLimitW)
	}
	row[clockColumn] = r.Measures.ClockText()
	row[7] = withUnit(r.LinksUp, "")
	return row
}

func withUnit(v *int, unit string) string {
	if v == nil {
		return "-"
	}
	return strconv.Itoa(*v) + unit
}

// usedBy names the users of the GPU, or says that it is free, or why it is not; "-" if nobody
// was asked who uses it.
func (g GPU) usedBy() string {
	var users []string
	if g.UserUnknown {
		users = append(users, ps.UserNotKnown)
	}
	for _, h := range g.Holders {
		users = append(users, user(h))
	}
	if !g.Healthy {
		users = append(users, "unhealthy")
	}
	if g.Parts != "" {
		users = append(users, g.Parts)
	}
	if users == nil && g.Holders == nil {
		return "-"
	}
	return terminal.Line(cmp.Or(strings.Join(users, ", "), "free"))
}

// user names a user of a GPU: its container, or else its lease, or else its process.
func user(h ps.Holder) string {
	name := ""
	switch {
	case h.Container != nil:
		name = fmt.Sprintf("%s (%s)", cmp.Or(h.Container.Name, h.Container.ID[:min(len(h.Container.ID), 12)]),
			h.Container.Engine)
	case h.Lease != nil:
		name = fmt.Sprintf("lease %s (%s)", h.Lease.ID, h.State)
	case len(h.Processes) > 0:
		name = fmt.Sprintf("%s (process %d)", h.Processes[0].Command, h.Processes[0].PID)
		if more := len(h.Processes) - 1; more > 0 {
			name += fmt.Sprintf(" and %d more", more)
		}
	default:
		return "not known"
	}
	if h.User != "" {
		name += " of " + h.User
	}
	return name
}

// Order is what rows are sorted by.
type Order int

// The orders. All but ByIndex put the greatest value first and missing ones last.
const (
	ByIndex Order = iota
	ByUtilization
	ByMemory
	ByTemperature
	ByPower
	orders
)

var orderNames = [orders]string{"index", "utilisation", "memory", "temperature", "power"}

// String returns the name of the order.
func (o Order) String() string { return orderNames[o] }

// value is what the order compares of a GPU, -1000 if it is missing.
func (o Order) value(g GPU) int {
	if g.Reading == nil || o == ByIndex {
		return -1000
	}
	v := [orders]*int{
		ByUtilization: g.Reading.UtilizationPercent, ByMemory: g.Reading.MemoryUsedMiB, ByTemperature: g.Reading.TemperatureC,
		ByPower: g.Reading.PowerW,
	}[o]
	if v == nil {
		return -1000
	}
	return *v
}

// sortedGPUs returns the GPUs in the order; those with the same value by index.
func (o Order) sortedGPUs(gpus []GPU) []GPU {
	out := slices.Clone(gpus)
	slices.SortStableFunc(out, func(a, b GPU) int { return cmp.Compare(o.value(b), o.value(a)) })
	return out
}
