// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Devices returns the devices of a node in the order of the addresses of GPUs, those of one
// GPU in the order of virtual functions. A GPU that fell off the bus stays, unhealthy, as long
// as the State knows it. A GPU without a known UUID is no device, because its ID would change
// as soon as the UUID is known; unnamed has the addresses of these GPUs. The driver that
// splits GPUs into virtual functions names none of them: the ID of such a GPU begins with its
// address.
//
// In ModeNative, where every usable GPU has virtual functions, each GPU has as many devices as
// VFNum says. Elsewhere a GPU with virtual functions is one unhealthy device, because a pod
// that requests GPUs must not get a mixture of both. In ModeVGPU there are only virtual
// functions. In ModeShared a GPU has as many devices as there are shares, and in ModeSGPU
// gpu.MaxSlices.
func Devices(n gpu.Node, s health.State, o Options) (devices []Device, unnamed []gpu.BDF) {
	vfs := 0
	switch o.Mode {
	case protocol.ModeNative, "":
		vfs = VFNum(n, s)
	case protocol.ModeVGPU:
		for _, g := range n.GPUs {
			vfs = max(vfs, len(g.VFs))
		}
		vfs = max(vfs, 1)
	case protocol.ModeShared, protocol.ModeSGPU: // they offer no virtual functions
	}
	for _, c := range cards(n, s) {
		switch {
		case o.excludes(c.GPU): // not offered
		case c.UUID == "" && len(c.VFs) == 0:
			unnamed = append(unnamed, c.BDF)
		default:
			devices = append(devices, c.devices(vfs, o.ModeSettings)...)
		}
	}
	if o.HideUnhealthy {
		devices = slices.DeleteFunc(devices, func(d Device) bool { return !d.Healthy })
	}
	return devices, unnamed
}

// VFNum returns how many virtual functions each GPU of a node has to have: the greatest number
// that one has, if every usable GPU has some, and 0 otherwise.
func VFNum(n gpu.Node, s health.State) (most int) {
	for _, c := range cards(n, s) {
		if c.health.Health == health.Healthy && c.Mode == "" && len(c.VFs) == 0 {
			return 0
		}
		most = max(most, len(c.VFs))
	}
	return most
}

func (o Options) excludes(g gpu.GPU) bool {
	return slices.ContainsFunc(o.Exclude, func(name string) bool {
		return (g.Index >= 0 && name == strconv.Itoa(g.Index)) || strings.EqualFold(name, g.BDF.String()) ||
			g.UUID.Equal(name)
	})
}

// devices returns the devices of one GPU of a node with vfs virtual functions per GPU.
func (c card) devices(vfs int, m protocol.ModeSettings) []Device {
	whole := Device{
		ID: cmp.Or(string(c.UUID), c.BDF.String()), GPU: c.Index, UUID: c.UUID, BDF: c.BDF,
		Healthy: c.health.Health == health.Healthy, Code: c.health.Code, Reason: c.health.Reason,
	}
	if c.NUMA >= 0 {
		whole.NUMA = &c.NUMA
	}
	if m.Mode == protocol.ModeSGPU {
		return c.slices(whole)
	}
	if how, divided := c.Divided(); whole.Healthy && divided && (vfs == 0 || c.Mode == gpu.ModeSGPU) {
		whole.Healthy, whole.Code, whole.Reason = false, Divided, how
	}
	if m.Mode == protocol.ModeShared {
		whole.Share = true
		return repeat(whole, m.Shares, shareMark)
	}
	if vfs == 0 {
		return []Device{whole}
	}
	all := make([]Device, vfs)
	for i := range all {
		all[i] = c.virtual(whole, i)
	}
	return all
}

// slices returns the devices of a GPU in ModeSGPU. They have no NUMA node: the kubelet must
// not choose by it, since it chooses no GPU.
func (c card) slices(whole Device) []Device {
	if whole.Healthy && len(c.VFs) > 0 {
		whole.Healthy, whole.Code, whole.Reason = false, HasVF, "it has virtual functions"
	}
	whole.Slice, whole.NUMA = true, nil
	return repeat(whole, gpu.MaxSlices, sliceMark)
}

// The marks in IDs between the UUID of a GPU and a number.
const (
	shareMark = "::"
	sliceMark = "-sgpu"
	vfMark    = "-vf"
)

// SliceID returns the ID of a device in ModeSGPU.
func SliceID(u gpu.UUID, i int) string { return fmt.Sprintf("%s%s%d", u, sliceMark, i) }

func repeat(d Device, n int, mark string) []Device {
	all := make([]Device, n)
	for i := range all {
		all[i] = d
		all[i].ID = fmt.Sprintf("%s%s%d", d.ID, mark, i)
	}
	return all
}

var numbered = regexp.MustCompile(`(` + shareMark + `|` + sliceMark + `|` + vfMark + `)[0-9]+$`)

// Serves reports whether a device of the ID can be one of the mode.
func Serves(m protocol.Mode, id string) bool {
	mark := ""
	if found := numbered.FindStringSubmatch(id); found != nil {
		mark = found[1]
	}
	switch m {
	case protocol.ModeNative:
		return mark == "" || mark == vfMark
	case protocol.ModeVGPU:
		return mark == vfMark
	case protocol.ModeShared:
		return mark == shareMark
	case protocol.ModeSGPU:
		return mark == sliceMark
	}
	return false
}

// virtual returns the device of virtual function i, which is as healthy as its GPU is as a
// whole if it has device nodes.
func (c card) virtual(whole Device, i int) Device {
	d := whole
	d.ID, d.VF, d.BDF = fmt.Sprintf("%s%s%d", whole.ID, vfMark, i), &i, gpu.BDF{}
	at := slices.IndexFunc(c.Slices, func(s gpu.Slice) bool { return s.Kind == gpu.SliceVF && s.Index == i })
	if at >= 0 {
		d.BDF = c.Slices[at].BDF
	}
	switch {
	case !d.Healthy: // the reason of its GPU stands
	case at < 0:
		d.Healthy, d.Code, d.Reason = false, NoVF, fmt.Sprintf("its GPU %s has no virtual function %d", c.BDF, i)
	case len(c.Slices[at].Nodes) == 0:
		d.Healthy, d.Code, d.Reason = false, health.NoDeviceNodes, fmt.Sprintf("virtual function %s has no device nodes",
			d.BDF)
	}
	return d
}
