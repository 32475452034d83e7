// SPDX-License-Identifier: Apache-2.0

package library

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// addSlices adds the sGPUs of a device. A driver or card that does not support sGPUs
// counts as one without any.
func (l *Library) addSlices(n *notes, d *mxsml.Device) {
	id := uint32(d.ID)
	on, err := getStruct(l, "mxSmlGetSgpuToggle", l.fn.SGPUToggle != nil,
		func(p *uint32) uint32 { return l.fn.SGPUToggle(id, p) })
	if notSupported(err) || (err == nil && on == 0) || l.fn.SGPUCount == nil {
		return
	}
	count := l.fn.SGPUCount(id)
	if count > gpu.MaxSlices {
		n.recordFailure("slices", id,
			fmt.Errorf("mxSmlGetSgpuCount returned %d; at most %d are possible", count, gpu.MaxSlices))
		count = 0
	}
	if d.Sliced = err == nil || count > 0; !d.Sliced {
		return
	}
	class, err := getStruct(l, "mxSmlGetDeviceSchedClass", l.fn.SchedClass != nil,
		func(p *uint32) uint32 { return l.fn.SchedClass(id, p) })
	if n.recordFailure("QoS of slices", id, err); err == nil {
		d.QoS = mxsml.QoS(class)
	}
	// Numbers may have gaps where a slice has been removed.
	for index := uint32(0); index < gpu.MaxSlices && uint32(len(d.Slices)) < count; index++ {
		s, err := l.slice(id, index)
		switch {
		case notSupported(err): // this number is unused
		case err != nil:
			n.recordFailure("slices", id, err)
		default:
			d.Slices = append(d.Slices, s)
		}
	}
}

func notSupported(err error) bool {
	var code *mxsml.CodeError
	return errors.As(err, &code) && code.NotSupported()
}

func (l *Library) slice(device, index uint32) (mxsml.Slice, error) {
	info, err := getStruct(l, "mxSmlGetSgpuInfo", l.fn.SGPUInfo != nil,
		func(p *sgpuInfo) uint32 { return l.fn.SGPUInfo(device, index, p) })
	if err != nil {
		return mxsml.Slice{}, err
	}
	if info.ComputeQuota > 100 || info.VRAMQuota > 1<<26 {
		return mxsml.Slice{}, fmt.Errorf("mxSmlGetSgpuInfo returned %d %% and %d MB", info.ComputeQuota, info.VRAMQuota)
	}
	s := mxsml.Slice{Index: int(index), ComputePercent: int(info.ComputeQuota), MemoryMiB: int(info.VRAMQuota)}
	if s.UUID, err = fieldText("mxSmlGetSgpuInfo", info.UUID[:]); err != nil {
		return mxsml.Slice{}, err
	}
	s.Alias, _ = getText(l, "mxSmlGetSgpuAlias", l.fn.SGPUAlias != nil, aliasSize,
		func(p *byte, size *uint32) uint32 { return l.fn.SGPUAlias(device, index, p, size) })
	if s.MemoryMiB == 0 {
		memory, err := getStruct(l, "mxSmlGetSgpuMemory", l.fn.SGPUMemory != nil,
			func(p *sgpuMemory) uint32 { return l.fn.SGPUMemory(device, index, p) })
		if mib := memory.Total >> 20; err == nil && mib > 0 && mib < 1<<26 {
			s.MemoryMiB = int(mib)
		}
	}
	return s, nil
}

// deviceAt returns the number of the device at an address.
func (l *Library) deviceAt(bdf gpu.BDF) (uint32, error) {
	ids, err := l.deviceIDs()
	if err != nil {
		return 0, err
	}
	n := &notes{}
	for _, id := range ids {
		info, ok := l.readInfo(n, id)
		if !ok {
			continue
		}
		address, _ := fieldText("", info.BDF[:])
		if at, err := gpu.ParseBDF(address); err == nil && at == bdf {
			return id, l.untrusted
		}
	}
	return 0, fmt.Errorf("libmxsml lists no GPU %s", bdf)
}

// Create makes a slice. If a QoS is requested and the GPU has no slice yet, it sets the
// GPU's QoS first. A new slice whose alias cannot be set, or that cannot be read back,
// is removed again.
func (l *Library) Create(r mxsml.SliceRequest) (mxsml.Slice, error) {
	if err := r.Check(); err != nil {
		return mxsml.Slice{}, err
	}
	device, err := l.deviceAt(r.BDF)
	if err != nil {
		return mxsml.Slice{}, err
	}
	if err := l.require("mxSmlCreateSgpu", "mxSmlRemoveSgpu", "mxSmlGetSgpuInfo"); err != nil {
		return mxsml.Slice{}, err
	}
	class, err := l.setQoS(device, r)
	if err != nil {
		return mxsml.Slice{}, err
	}
	index, err := getStruct(l, "mxSmlCreateSgpu", true, func(p *uint32) uint32 {
		return l.fn.CreateSGPU(device, uint32(r.MemoryMiB), uint32(r.Compute), p)
	})
	if err != nil {
		return mxsml.Slice{}, err
	}
	s, err := l.finishSlice(device, index, r)
	if errors.Is(err, errNotMine) {
		return mxsml.Slice{}, err
	}
	if err != nil {
		return mxsml.Slice{}, errors.Join(err, l.codeError("mxSmlRemoveSgpu", l.fn.RemoveSGPU(device, index)))
	}
	s.QoS = class
	return s, nil
}

// setQoS sets the requested QoS of a GPU's slices, and returns the resulting one.
func (l *Library) setQoS(device uint32, r mxsml.SliceRequest) (string, error) {
	class, err := getStruct(l, "mxSmlGetDeviceSchedClass", l.fn.SchedClass != nil,
		func(p *uint32) uint32 { return l.fn.SchedClass(device, p) })
	is := ""
	if err == nil {
		is = mxsml.QoS(class)
	}
	if r.QoS == "" || r.QoS == is {
		return is, nil
	}
	if err := l.require("mxSmlSetDeviceSchedClass", "mxSmlGetSgpuCount"); err != nil {
		return "", err
	}
	if count := l.fn.SGPUCount(device); count > 0 {
		return "", fmt.Errorf("GPU %s has %d slices with the QoS %q; all slices of a GPU have the same QoS", r.BDF, count, is)
	}
	return r.QoS, l.codeError("mxSmlSetDeviceSchedClass", l.fn.SetSchedClass(device, mxsml.Class(r.QoS)))
}

// finishSlice sets the alias of a new slice and reads the slice back.
func (l *Library) finishSlice(device, index uint32, r mxsml.SliceRequest) (mxsml.Slice, error) {
	if index >= gpu.MaxSlices {
		return mxsml.Slice{}, fmt.Errorf("mxSmlCreateSgpu returned the invalid slice number %d", index)
	}
	if r.Alias != "" {
		if err := l.require("mxSmlSetSgpuAlias"); err != nil {
			return mxsml.Slice{}, err
		}
		alias := append([]byte(r.Alias), make([]byte, aliasSize)...)
		if err := l.codeError("mxSmlSetSgpuAlias", l.fn.SetSGPUAlias(device, index, &alias[0])); err != nil {
			return mxsml.Slice{}, err
		}
	}
	s, err := l.slice(device, index)
	switch {
	case err != nil: // returned below
	case l.untrusted != nil:
		err = l.untrusted
	case s.ComputePercent != r.Compute || s.MemoryMiB != r.MemoryMiB:
		err = fmt.Errorf("slice %d of GPU %s has %d %% and %d MiB, not %d %% and %d MiB: %w", index, r.BDF, s.ComputePercent,
			s.MemoryMiB, r.Compute, r.MemoryMiB, errNotMine)
	}
	return s, err
}

// errNotMine reports a new slice that is not as requested, so that it may be another's: the
// library guesses its number before it makes it. It is not removed.
var errNotMine = errors.New("another program changes slices at the same time (metax-ctk sgpu list)")

// Remove removes the slice with this UUID or, in decimal, index.
func (l *Library) Remove(bdf gpu.BDF, slice string) error {
	device, err := l.deviceAt(bdf)
	if err != nil {
		return err
	}
	if err := l.require("mxSmlRemoveSgpu", "mxSmlGetSgpuInfo"); err != nil {
		return err
	}
	for index := range uint32(gpu.MaxSlices) {
		s, err := l.slice(device, index)
		if l.untrusted != nil {
			return l.untrusted
		}
		if slice == strconv.Itoa(int(index)) || (err == nil && s.UUID != "" && strings.EqualFold(s.UUID, slice)) {
			if notSupported(err) {
				break
			}
			return l.codeError("mxSmlRemoveSgpu", l.fn.RemoveSGPU(device, index))
		}
	}
	return fmt.Errorf("GPU %s has no slice %s", bdf, slice)
}

// SetMode switches slice mode on or off.
func (l *Library) SetMode(bdf gpu.BDF, sliced bool) error {
	device, err := l.deviceAt(bdf)
	if err != nil {
		return err
	}
	if err := l.require("mxSmlSetSgpuToggle"); err != nil {
		return err
	}
	on := uint32(0)
	if sliced {
		on = 1
	}
	return l.codeError("mxSmlSetSgpuToggle", l.fn.SetSGPUToggle(device, on))
}

// require fails with ErrMissing if the library lacks one of the functions.
func (l *Library) require(functions ...string) error {
	for _, name := range functions {
		if slices.Contains(l.missing, name) {
			return fmt.Errorf("%w %s", ErrMissing, name)
		}
	}
	return nil
}
