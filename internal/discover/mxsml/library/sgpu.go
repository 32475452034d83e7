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

// slices adds what a device is cut into. A driver, or a card, that knows no sGPUs
// is as good as one that has none.
func (l *Library) slices(n *notes, d *mxsml.Device) {
	id := uint32(d.ID)
	on, err := get(l, "mxSmlGetSgpuToggle", l.fn.SGPUToggle != nil, func(p *uint32) uint32 { return l.fn.SGPUToggle(id, p) })
	if notSupported(err) || err == nil && on == 0 || l.fn.SGPUCount == nil || d.Limited {
		return
	}
	count := l.fn.SGPUCount(id)
	if count > gpu.MaxSlices {
		n.failed("slices", id, fmt.Errorf("mxSmlGetSgpuCount says %d; at most %d are possible", count, gpu.MaxSlices))
		count = 0
	}
	if d.Sliced = err == nil || count > 0; !d.Sliced {
		return
	}
	class, err := get(l, "mxSmlGetDeviceSchedClass", l.fn.SchedClass != nil, func(p *uint32) uint32 { return l.fn.SchedClass(id, p) })
	if n.failed("QoS of slices", id, err); err == nil {
		d.QoS = mxsml.QoS(class)
	}
	// Numbers may have gaps where a slice has been removed.
	for index := uint32(0); index < gpu.MaxSlices && uint32(len(d.Slices)) < count; index++ {
		s, err := l.slice(id, index)
		switch {
		case notSupported(err): // there is none of that number
		case err != nil:
			n.failed("slices", id, err)
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
	info, err := get(l, "mxSmlGetSgpuInfo", l.fn.SGPUInfo != nil, func(p *sgpuInfo) uint32 { return l.fn.SGPUInfo(device, index, p) })
	if err != nil {
		return mxsml.Slice{}, err
	}
	if info.ComputeQuota > 100 || info.VRAMQuota > 1<<26 {
		return mxsml.Slice{}, fmt.Errorf("mxSmlGetSgpuInfo says %d %% and %d MB", info.ComputeQuota, info.VRAMQuota)
	}
	s := mxsml.Slice{Index: int(index), ComputePercent: int(info.ComputeQuota), MemoryMiB: int(info.VRAMQuota)}
	if s.UUID, err = field("mxSmlGetSgpuInfo", info.UUID[:]); err != nil {
		return mxsml.Slice{}, err
	}
	s.Alias, _ = text(l, "mxSmlGetSgpuAlias", l.fn.SGPUAlias != nil, aliasSize, func(p *byte, size *uint32) uint32 { return l.fn.SGPUAlias(device, index, p, size) })
	if s.MemoryMiB == 0 {
		memory, err := get(l, "mxSmlGetSgpuMemory", l.fn.SGPUMemory != nil, func(p *sgpuMemory) uint32 { return l.fn.SGPUMemory(device, index, p) })
		if mib := memory.Total >> 20; err == nil && mib > 0 && mib < 1<<26 {
			s.MemoryMiB = int(mib)
		}
	}
	return s, nil
}

// find returns the number of the device at an address.
func (l *Library) find(bdf gpu.BDF) (uint32, error) {
	ids, err := l.ids()
	if err != nil {
		return 0, err
	}
	n := &notes{}
	for _, id := range ids {
		info, _, ok := l.info(n, id)
		if !ok {
			continue
		}
		address, _ := field("", info.BDF[:])
		if at, err := gpu.ParseBDF(address); err == nil && at == bdf {
			return id, l.spoilt
		}
	}
	return 0, fmt.Errorf("libmxsml knows no GPU %s", bdf)
}

// Create makes a slice, and sets before that how the slices of the GPU share it,
// if it is asked to and there is no other slice. If the new slice does not get
// its alias, or is not there in the end, it is removed again.
func (l *Library) Create(r mxsml.SliceRequest) (mxsml.Slice, error) {
	if err := r.Check(); err != nil {
		return mxsml.Slice{}, err
	}
	device, err := l.find(r.BDF)
	if err != nil {
		return mxsml.Slice{}, err
	}
	if err := l.has("mxSmlCreateSgpu", "mxSmlRemoveSgpu", "mxSmlGetSgpuInfo"); err != nil {
		return mxsml.Slice{}, err
	}
	class, err := l.share(device, r)
	if err != nil {
		return mxsml.Slice{}, err
	}
	index, err := get(l, "mxSmlCreateSgpu", true, func(p *uint32) uint32 {
		return l.fn.CreateSGPU(device, uint32(r.MemoryMiB), uint32(r.Compute), p)
	})
	if err != nil {
		return mxsml.Slice{}, err
	}
	s, err := l.finish(device, index, r)
	if err != nil {
		return mxsml.Slice{}, errors.Join(err, l.code("mxSmlRemoveSgpu", l.fn.RemoveSGPU(device, index)))
	}
	s.QoS = class
	return s, nil
}

// share sets how the slices of a GPU share it, and returns how they do.
func (l *Library) share(device uint32, r mxsml.SliceRequest) (string, error) {
	class, err := get(l, "mxSmlGetDeviceSchedClass", l.fn.SchedClass != nil, func(p *uint32) uint32 { return l.fn.SchedClass(device, p) })
	is := ""
	if err == nil {
		is = mxsml.QoS(class)
	}
	if r.QoS == "" || r.QoS == is {
		return is, nil
	}
	if err := l.has("mxSmlSetDeviceSchedClass", "mxSmlGetSgpuCount"); err != nil {
		return "", err
	}
	if count := l.fn.SGPUCount(device); count > 0 {
		return "", fmt.Errorf("GPU %s has %d slices, which share it as %q; all of a GPU's slices do the same", r.BDF, count, is)
	}
	return r.QoS, l.code("mxSmlSetDeviceSchedClass", l.fn.SetSchedClass(device, mxsml.Class(r.QoS)))
}

// finish gives a new slice its alias, and reads what it became.
func (l *Library) finish(device, index uint32, r mxsml.SliceRequest) (mxsml.Slice, error) {
	if index >= gpu.MaxSlices {
		return mxsml.Slice{}, fmt.Errorf("mxSmlCreateSgpu says that it made slice %d", index)
	}
	if r.Alias != "" {
		if err := l.has("mxSmlSetSgpuAlias"); err != nil {
			return mxsml.Slice{}, err
		}
		alias := append([]byte(r.Alias), make([]byte, aliasSize)...)
		if err := l.code("mxSmlSetSgpuAlias", l.fn.SetSGPUAlias(device, index, &alias[0])); err != nil {
			return mxsml.Slice{}, err
		}
	}
	s, err := l.slice(device, index)
	if err == nil {
		err = l.spoilt
	}
	return s, err
}

// Remove removes the slice with this UUID or, in decimal, index.
func (l *Library) Remove(bdf gpu.BDF, slice string) error {
	device, err := l.find(bdf)
	if err != nil {
		return err
	}
	if err := l.has("mxSmlRemoveSgpu", "mxSmlGetSgpuInfo"); err != nil {
		return err
	}
	for index := range uint32(gpu.MaxSlices) {
		s, err := l.slice(device, index)
		if l.spoilt != nil {
			return l.spoilt
		}
		if slice == strconv.Itoa(int(index)) || err == nil && s.UUID != "" && strings.EqualFold(s.UUID, slice) {
			if notSupported(err) {
				break
			}
			return l.code("mxSmlRemoveSgpu", l.fn.RemoveSGPU(device, index))
		}
	}
	return fmt.Errorf("GPU %s has no slice %s", bdf, slice)
}

// SetMode switches a GPU to slices, or back.
func (l *Library) SetMode(bdf gpu.BDF, sliced bool) error {
	device, err := l.find(bdf)
	if err != nil {
		return err
	}
	if err := l.has("mxSmlSetSgpuToggle"); err != nil {
		return err
	}
	on := uint32(0)
	if sliced {
		on = 1
	}
	return l.code("mxSmlSetSgpuToggle", l.fn.SetSGPUToggle(device, on))
}

// has fails if the library lacks one of the functions.
func (l *Library) has(functions ...string) error {
	for _, name := range functions {
		if slices.Contains(l.missing, name) {
			return fmt.Errorf("%w %s", ErrMissing, name)
		}
	}
	return nil
}
