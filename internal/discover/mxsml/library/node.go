// SPDX-License-Identifier: Apache-2.0

package library

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Node queries everything that discovery needs and, with details, more. It fails if the
// library does not list the devices, or reports nothing about all that it lists; other
// facts that it does not report are missing, with a warning.
func (l *Library) Node(details bool) (mxsml.Answer, error) {
	ids, err := l.deviceIDs()
	if err != nil {
		return mxsml.Answer{}, err
	}
	a := mxsml.Answer{Version: mxsml.Version, Missing: l.missing}
	n := &notes{}
	known := false // whether a device reports more than its address
	for _, id := range ids {
		d, ok := l.device(n, id)
		if !ok {
			continue
		}
		known = true
		if d.Mode != mxsml.ModeVF {
			l.addSlices(n, &d)
		}
		if details {
			d.Details = l.details(n, d)
		}
		a.Devices = append(a.Devices, d)
	}
	if n.unknown != nil && !known {
		return mxsml.Answer{}, n.unknown
	}
	a.Devices = append(a.Devices, l.limited(n, ids)...)
	if len(a.Devices) == 0 && l.noDevice != nil {
		return mxsml.Answer{}, l.noDevice
	}
	a.Links = l.links(n, a.Devices)
	l.versions(n, &a)
	a.Warnings = n.warningLines()
	if l.untrusted != nil {
		return mxsml.Answer{}, l.untrusted
	}
	return a, nil
}

// deviceIDs are the numbers of the devices that report more than their address.
func (l *Library) deviceIDs() ([]uint32, error) {
	var ids []uint32
	if l.noDevice != nil {
		return nil, nil
	}
	count := l.fn.DeviceCount()
	if count > mxsml.MaxDevices {
		return nil, fmt.Errorf("mxSmlGetDeviceCount returned %d; at most %d devices are possible", count, mxsml.MaxDevices)
	}
	for id := range count {
		ids = append(ids, id)
	}
	if l.fn.PFCount == nil {
		return ids, nil
	}
	count = l.fn.PFCount()
	if count > mxsml.MaxPFs {
		return nil,
			fmt.Errorf("mxSmlGetPfDeviceCount returned %d; at most %d physical functions are possible", count, mxsml.MaxPFs)
	}
	for id := range count {
		ids = append(ids, mxsml.FirstPF+id)
	}
	return ids, nil
}

// limited are the devices of which the library knows only the address and why: the driver does
// not serve them. Their numbers follow those of the others, which are in listed.
func (l *Library) limited(n *notes, listed []uint32) (devices []mxsml.Device) {
	const function = "mxSmlGetLimitedDeviceInfo"
	all, err := getStruct(l, "mxSmlGetAllLimitedDevices", l.fn.AllLimited != nil,
		func(p *virtualIDs) uint32 { return l.fn.AllLimited(p) })
	if err == nil && (all.Number < 0 || all.Number > vfCount) {
		err = fmt.Errorf("mxSmlGetAllLimitedDevices returned %d", all.Number)
	}
	if err != nil {
		n.recordFailure("devices that the driver does not serve", 0, err)
		return nil
	}
	for _, number := range all.ID[:all.Number] {
		id := uint32(number)
		if slices.Contains(listed, id) {
			continue
		}
		info, err := getStruct(l, function, l.fn.LimitedInfo != nil,
			func(p *deviceInfo) uint32 { return l.fn.LimitedInfo(id, p) })
		if n.recordFailure("devices that the driver does not serve", id, err); err != nil {
			continue
		}
		d := mxsml.Device{ID: int(id), Limited: true, Mode: modeOf(info)}
		if d.BDF, err = fieldText(function, info.BDF[:]); err != nil {
			n.recordFailure("PCI address", id, err)
			continue
		}
		d.Name, _ = fieldText(function, info.Name[:])
		d.Reason, d.Code = l.unavailableReason(id)
		devices, listed = append(devices, d), append(listed, id)
	}
	return devices
}

// readInfo reads the basic facts of a device.
func (l *Library) readInfo(n *notes, id uint32) (info deviceInfo, ok bool) {
	info, err := getStruct(l, "mxSmlGetDeviceInfo", true, func(p *deviceInfo) uint32 { return l.fn.DeviceInfo(id, p) })
	if err != nil {
		n.unknown = err
		n.recordFailure("some devices are missing", id, err)
	}
	return info, err == nil
}

func (l *Library) device(n *notes, id uint32) (mxsml.Device, bool) {
	info, ok := l.readInfo(n, id)
	if !ok {
		return mxsml.Device{}, false
	}
	d := mxsml.Device{ID: int(id), Mode: modeOf(info)}
	take := func(into *string, what string, buffer []byte) {
		var err error
		if *into, err = fieldText("mxSmlGetDeviceInfo", buffer); err != nil {
			n.recordFailure(what, id, err)
		}
	}
	take(&d.BDF, "PCI address", info.BDF[:])
	take(&d.UUID, "UUID", info.UUID[:])
	take(&d.Name, "model", info.Name[:])
	l.readFacts(n, id, &d)
	return d, true
}

func modeOf(info deviceInfo) string {
	switch info.Mode {
	case modePF:
		return mxsml.ModePF
	case modeVF:
		return mxsml.ModeVF
	}
	return mxsml.ModeNative
}

// readFacts reads the remaining facts of a device. A physical function that is split has no
// memory of its own and no MetaXLink, a virtual function no serial number, and the library
// says so only by an error.
func (l *Library) readFacts(n *notes, id uint32, d *mxsml.Device) {
	var err error
	if d.Mode != mxsml.ModeVF {
		l.readSerial(n, id, d)
	}
	if d.Mode != mxsml.ModePF {
		memory, err := getStruct(l, "mxSmlGetMemoryInfo", l.fn.Memory != nil,
			func(p *memoryInfo) uint32 { return l.fn.Memory(id, p) })
		n.recordFailure("memory size", id, err)
		if err == nil {
			d.MemoryKiB = memory.VRAMTotal
		}
	}
	if state, err := getStruct(l, "mxSmlGetDeviceState", l.fn.State != nil,
		func(p *int32) uint32 { return l.fn.State(id, p) }); err != nil {
		n.recordFailure("health", id, err)
	} else {
		available := state == 1
		d.Available = &available
		if !available {
			d.Reason, d.Code = l.unavailableReason(id)
		}
	}
	d.BIOS, err = l.version(id, versionBIOS)
	if !notSupported(err) {
		n.recordFailure("VBIOS version", id, err)
	}
	if state, err := getStruct(l, "mxSmlGetSriovState", l.fn.SRIOV != nil,
		func(p *uint32) uint32 { return l.fn.SRIOV(id, p) }); err == nil {
		supported := state != 0
		d.SRIOV = &supported
	}
	if code, err := l.linkState(id); err == nil && d.Mode == mxsml.ModeNative {
		d.MetaXLink = mxsml.LinkState(code)
	}
	if d.Mode != mxsml.ModePF {
		return
	}
	vfs, err := getStruct(l, "mxSmlGetVirtualDevicesByPhysicalId", l.fn.VFs != nil,
		func(p *virtualIDs) uint32 { return l.fn.VFs(id, p) })
	if err == nil && (vfs.Number < 0 || vfs.Number > vfCount) {
		err = fmt.Errorf("mxSmlGetVirtualDevicesByPhysicalId returned %d", vfs.Number)
	}
	if n.recordFailure("virtual functions", id, err); err == nil {
		for _, vf := range vfs.ID[:vfs.Number] {
			d.VFs = append(d.VFs, int(vf))
		}
	}
}

// readSerial reads the serial number of the board or, without one, of the chip.
func (l *Library) readSerial(n *notes, id uint32, d *mxsml.Device) {
	var err error
	d.BoardSerial, err = getText(l, "mxSmlGetBoardSerial", l.fn.BoardSerial != nil, serialSize,
		func(p *byte, size *uint32) uint32 { return l.fn.BoardSerial(id, p, size) })
	n.recordFailure("serial number", id, err)
	if d.BoardSerial == "" {
		d.ChipSerial, err = getText(l, "mxSmlGetChipSerial", l.fn.ChipSerial != nil, serialSize,
			func(p *byte, size *uint32) uint32 { return l.fn.ChipSerial(id, p, size) })
		n.recordFailure("serial number", id, err)
	}
}

// unavailableReason is why a device is not available, and the library's number of it; empty,
// without a warning, if the library does not report it.
func (l *Library) unavailableReason(id uint32) (reason string, code int) {
	why, err := getStruct(l, "mxSmlGetDeviceUnavailableReason", l.fn.Unavailable != nil,
		func(p *unavailable) uint32 { return l.fn.Unavailable(id, p) })
	if err != nil || why.Code == 0 {
		return "", 0
	}
	reason, err = fieldText("mxSmlGetDeviceUnavailableReason", why.Reason[:])
	if err != nil || reason == "" {
		reason = fmt.Sprintf("code %d", why.Code)
	}
	return reason, int(why.Code)
}

// linkState is the state of a device's MetaXLink. The text for it is not used, so a
// text that does not fit the buffer is not an error.
func (l *Library) linkState(id uint32) (uint32, error) {
	return getStruct(l, "mxSmlGetMetaXLinkState", l.fn.LinkState != nil, func(state *uint32) uint32 {
		var code uint32
		_, err := getText(l, "mxSmlGetMetaXLinkState", true, linkStateSize, func(p *byte, size *uint32) uint32 {
			code = l.fn.LinkState(id, state, p, size)
			return code
		})
		if errors.Is(err, errText) {
			return 0
		}
		return code
	})
}

// links queries each pair of GPUs that are whole and served by the driver: the library knows
// the links of no others.
func (l *Library) links(n *notes, devices []mxsml.Device) []mxsml.Pair {
	var pairs []mxsml.Pair
	whole := slices.DeleteFunc(slices.Clone(devices),
		func(d mxsml.Device) bool { return d.Limited || d.Mode != mxsml.ModeNative })
	for i, a := range whole {
		for _, b := range whole[i+1:] {
			level, err := getStruct(l, "mxSmlGetDeviceTopology", l.fn.Topology != nil,
				func(p *uint32) uint32 { return l.fn.Topology(uint32(a.ID), uint32(b.ID), p) })
			if n.recordFailure("link", uint32(a.ID), err); err == nil {
				pairs = append(pairs, mxsml.Pair{A: a.ID, B: b.ID, Level: int(min(level, 1<<16))})
			}
		}
	}
	return pairs
}

func (l *Library) versions(n *notes, a *mxsml.Answer) {
	// a host may have no MXMACA
	a.MACA, _ = getText(l, "mxSmlGetMacaVersion", l.fn.MacaVersion != nil, versionSize, l.fn.MacaVersion)
	if len(a.Devices) > 0 && !a.Devices[0].Limited {
		id := uint32(a.Devices[0].ID)
		var err error
		a.Driver, err = l.version(id, versionDriver)
		n.recordFailure("driver version", id, err)
	}
}

// version is the version of a part of the device, by the library's number of the part.
func (l *Library) version(id, part uint32) (string, error) {
	return getText(l, "mxSmlGetDeviceVersion", l.fn.DeviceVersion != nil, versionSize,
		func(p *byte, size *uint32) uint32 { return l.fn.DeviceVersion(id, part, p, size) })
}

// eccErrors counts the memory errors of a device; nil if the library does not report them.
func (l *Library) eccErrors(n *notes, id uint32) *gpu.ECC {
	ecc, err := getStruct(l, "mxSmlGetTotalEccErrors", l.fn.ECC != nil,
		func(p *eccCount) uint32 { return l.fn.ECC(id, p) })
	if n.recordFailure("memory errors", id, err); err != nil {
		return nil
	}
	return (*gpu.ECC)(&ecc)
}

func (l *Library) details(n *notes, of mxsml.Device) *mxsml.Details {
	id, d := uint32(of.ID), &mxsml.Details{}
	dies, err := getStruct(l, "mxSmlGetDeviceDieCount", l.fn.DieCount != nil,
		func(p *uint32) uint32 { return l.fn.DieCount(id, p) })
	n.recordFailure("number of dies", id, err)
	d.Dies = int(min(dies, 1<<8))
	if of.Mode != mxsml.ModeVF {
		d.ECC = l.eccErrors(n, id)
	}
	if of.Mode != mxsml.ModeNative {
		return d
	}
	ports, err := getStruct(l, "mxSmlGetMetaXLinkInfo", l.fn.LinkInfo != nil,
		func(p *linkInfo) uint32 { return l.fn.LinkInfo(id, p) })
	if n.recordFailure("ports", id, err); err != nil {
		return d
	}
	for i := range linkCount {
		port := mxsml.Port{GTps: finiteOrZero(ports.Speed[i]), Lanes: ports.Width[i]}
		remote, err := getStruct(l, "mxSmlGetMetaXLinkRemoteInfo", l.fn.LinkRemote != nil,
			func(p *linkRemote) uint32 { return l.fn.LinkRemote(id, uint32(i)+1, p) })
		if err == nil {
			port.Remote, _ = fieldText("", remote.BDF[:])
		}
		d.Ports = append(d.Ports, port)
	}
	return d
}

// finiteOrZero replaces numbers that JSON cannot represent by 0.
func finiteOrZero(f float32) float32 {
	if f-f != 0 {
		return 0
	}
	return f
}

// notes collects failures, so that the same failure of eight devices gives one line.
type notes struct {
	unknown error // why the facts of a device could not be read
	order   []string
	count   map[string]int
	first   map[string]uint32
}

// recordFailure records that a fact of a device is unknown. Functions that the library lacks
// are not recorded here: Missing lists them.
func (n *notes) recordFailure(what string, id uint32, err error) {
	if err == nil || errors.Is(err, ErrMissing) {
		return
	}
	line := what + ": " + describeError(err)
	if n.count == nil {
		n.count, n.first = map[string]int{}, map[string]uint32{}
	}
	if n.count[line]++; n.count[line] == 1 {
		n.order, n.first[line] = append(n.order, line), id
	}
}

func (n *notes) warningLines() []string {
	lines := make([]string, 0, len(n.order))
	for _, line := range n.order {
		of := fmt.Sprintf(" (device %d", n.first[line])
		if more := n.count[line] - 1; more > 0 {
			of += ", and " + wording.Count(more, "more failure") + " of the same kind"
		}
		lines = append(lines, "libmxsml did not report everything: "+strings.TrimSpace(printableASCII(line))+of+")")
	}
	return lines
}
