package library

import (
	"errors"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
)

// Node asks for all that discovery needs, and with details for more. It fails if
// the library does not say what devices there are, or knows no more of any than
// where it is; what else it does not say is missing, with a warning.
func (l *Library) Node(details bool) (mxsml.Answer, error) {
	ids, err := l.ids()
	if err != nil {
		return mxsml.Answer{}, err
	}
	a := mxsml.Answer{Version: mxsml.Version, Missing: l.missing}
	n := &notes{}
	known := false // a device that tells more than its address
	for _, id := range ids {
		d, ok := l.device(n, id)
		if !ok {
			continue
		}
		known = known || !d.Limited
		if d.Mode != mxsml.ModeVF {
			l.slices(n, &d)
		}
		if details {
			d.Details = l.details(n, id)
		}
		a.Devices = append(a.Devices, d)
	}
	if n.unknown != nil && !known {
		return mxsml.Answer{}, n.unknown
	}
	a.Links = l.links(n, a.Devices)
	l.versions(n, &a)
	a.Warnings = n.lines()
	if l.spoilt != nil {
		return mxsml.Answer{}, l.spoilt
	}
	return a, nil
}

// ids are the numbers of all devices.
func (l *Library) ids() ([]uint32, error) {
	var ids []uint32
	count := l.fn.DeviceCount()
	if count > mxsml.MaxDevices {
		return nil, fmt.Errorf("mxSmlGetDeviceCount says %d; at most %d devices are possible", count, mxsml.MaxDevices)
	}
	for id := range count {
		ids = append(ids, id)
	}
	if l.fn.PFCount == nil {
		return ids, nil
	}
	count = l.fn.PFCount()
	if count > mxsml.MaxPFs {
		return nil, fmt.Errorf("mxSmlGetPfDeviceCount says %d; at most %d physical functions are possible", count, mxsml.MaxPFs)
	}
	for id := range count {
		ids = append(ids, mxsml.FirstPF+id)
	}
	return ids, nil
}

// info is what every device tells, a limited one less of it.
func (l *Library) info(n *notes, id uint32) (info deviceInfo, limited, ok bool) {
	info, err := get(l, "mxSmlGetDeviceInfo", true, func(p *deviceInfo) uint32 { return l.fn.DeviceInfo(id, p) })
	if err == nil {
		return info, false, true
	}
	n.unknown = err
	n.failed("devices that it counts are left out, or known by their address only", id, err)
	info, err = get(l, "mxSmlGetLimitedDeviceInfo", l.fn.LimitedInfo != nil, func(p *deviceInfo) uint32 { return l.fn.LimitedInfo(id, p) })
	return info, true, err == nil
}

func (l *Library) device(n *notes, id uint32) (mxsml.Device, bool) {
	info, limited, ok := l.info(n, id)
	if !ok {
		return mxsml.Device{}, false
	}
	d := mxsml.Device{ID: int(id), Limited: limited}
	take := func(into *string, what string, buffer []byte) {
		var err error
		if *into, err = field("mxSmlGetDeviceInfo", buffer); err != nil {
			n.failed(what, id, err)
		}
	}
	take(&d.BDF, "PCI address", info.BDF[:])
	if limited {
		return d, true
	}
	take(&d.UUID, "UUID", info.UUID[:])
	take(&d.Name, "model", info.Name[:])
	switch info.Mode {
	case modePF:
		d.Mode = mxsml.ModePF
	case modeVF:
		d.Mode = mxsml.ModeVF
	default:
		d.Mode = mxsml.ModeNative
	}
	l.facts(n, id, &d)
	return d, true
}

// facts asks for the rest of a device's facts.
func (l *Library) facts(n *notes, id uint32, d *mxsml.Device) {
	var err error
	d.BoardSerial, err = text(l, "mxSmlGetBoardSerial", l.fn.BoardSerial != nil, serialSize, func(p *byte, size *uint32) uint32 { return l.fn.BoardSerial(id, p, size) })
	n.failed("serial number", id, err)
	if d.BoardSerial == "" {
		d.ChipSerial, err = text(l, "mxSmlGetChipSerial", l.fn.ChipSerial != nil, serialSize, func(p *byte, size *uint32) uint32 { return l.fn.ChipSerial(id, p, size) })
		n.failed("serial number", id, err)
	}
	memory, err := get(l, "mxSmlGetMemoryInfo", l.fn.Memory != nil, func(p *memoryInfo) uint32 { return l.fn.Memory(id, p) })
	n.failed("memory size", id, err)
	if err == nil {
		d.MemoryKiB = memory.VRAMTotal
	}
	if state, err := get(l, "mxSmlGetDeviceState", l.fn.State != nil, func(p *int32) uint32 { return l.fn.State(id, p) }); err != nil {
		n.failed("health", id, err)
	} else {
		available := state == 1
		d.Available = &available
		if !available {
			d.Reason = l.reason(id)
		}
	}
	if code, err := l.linkState(id); err == nil {
		d.MetaXLink = mxsml.LinkState(code)
	}
	if d.Mode != mxsml.ModePF {
		return
	}
	vfs, err := get(l, "mxSmlGetVirtualDevicesByPhysicalId", l.fn.VFs != nil, func(p *virtualIDs) uint32 { return l.fn.VFs(id, p) })
	if err == nil && (vfs.Number < 0 || vfs.Number > vfCount) {
		err = fmt.Errorf("mxSmlGetVirtualDevicesByPhysicalId says %d", vfs.Number)
	}
	if n.failed("virtual functions", id, err); err == nil {
		for _, vf := range vfs.ID[:vfs.Number] {
			d.VFs = append(d.VFs, int(vf))
		}
	}
}

// reason is why a device is not available; a library that does not say is not
// worth a word.
func (l *Library) reason(id uint32) string {
	why, err := get(l, "mxSmlGetDeviceUnavailableReason", l.fn.Unavailable != nil, func(p *unavailable) uint32 { return l.fn.Unavailable(id, p) })
	if err != nil || why.Code == 0 {
		return ""
	}
	reason, err := field("mxSmlGetDeviceUnavailableReason", why.Reason[:])
	if err != nil || reason == "" {
		return fmt.Sprintf("code %d", why.Code)
	}
	return reason
}

// linkState is the state of a device's MetaXLink. Its text is not asked for a
// second time if it does not fit.
func (l *Library) linkState(id uint32) (uint32, error) {
	return get(l, "mxSmlGetMetaXLinkState", l.fn.LinkState != nil, func(state *uint32) uint32 {
		var code uint32
		_, err := text(l, "mxSmlGetMetaXLinkState", true, linkStateSize, func(p *byte, size *uint32) uint32 {
			code = l.fn.LinkState(id, state, p, size)
			return code
		})
		if errors.Is(err, errText) {
			return 0
		}
		return code
	})
}

// links asks for each pair of devices that are no virtual functions.
func (l *Library) links(n *notes, devices []mxsml.Device) []mxsml.Pair {
	var pairs []mxsml.Pair
	for i, a := range devices {
		for _, b := range devices[i+1:] {
			if a.Mode == mxsml.ModeVF || b.Mode == mxsml.ModeVF {
				continue
			}
			level, err := get(l, "mxSmlGetDeviceTopology", l.fn.Topology != nil, func(p *uint32) uint32 { return l.fn.Topology(uint32(a.ID), uint32(b.ID), p) })
			if n.failed("link", uint32(a.ID), err); err == nil {
				pairs = append(pairs, mxsml.Pair{A: a.ID, B: b.ID, Level: int(min(level, 1<<16))})
			}
		}
	}
	return pairs
}

func (l *Library) versions(n *notes, a *mxsml.Answer) {
	a.MACA, _ = text(l, "mxSmlGetMacaVersion", l.fn.MacaVersion != nil, versionSize, l.fn.MacaVersion) // there may be none
	if len(a.Devices) > 0 {
		id := uint32(a.Devices[0].ID)
		var err error
		a.Driver, err = text(l, "mxSmlGetDeviceVersion", l.fn.DeviceVersion != nil, versionSize, func(p *byte, size *uint32) uint32 { return l.fn.DeviceVersion(id, versionDriver, p, size) })
		n.failed("driver version", id, err)
	}
}

func (l *Library) details(n *notes, id uint32) *mxsml.Details {
	d := &mxsml.Details{}
	dies, err := get(l, "mxSmlGetDeviceDieCount", l.fn.DieCount != nil, func(p *uint32) uint32 { return l.fn.DieCount(id, p) })
	n.failed("number of dies", id, err)
	d.Dies = int(min(dies, 1<<8))
	ecc, err := get(l, "mxSmlGetTotalEccErrors", l.fn.ECC != nil, func(p *eccCount) uint32 { return l.fn.ECC(id, p) })
	if n.failed("memory errors", id, err); err == nil {
		d.ECC = (*mxsml.ECC)(&ecc)
	}
	ports, err := get(l, "mxSmlGetMetaXLinkInfo", l.fn.LinkInfo != nil, func(p *linkInfo) uint32 { return l.fn.LinkInfo(id, p) })
	if n.failed("ports", id, err); err != nil {
		return d
	}
	for i := range linkCount {
		port := mxsml.Port{GTps: finite(ports.Speed[i]), Lanes: ports.Width[i]}
		remote, err := get(l, "mxSmlGetMetaXLinkRemoteInfo", l.fn.LinkRemote != nil, func(p *linkRemote) uint32 { return l.fn.LinkRemote(id, uint32(i), p) })
		if err == nil {
			port.Remote, _ = field("", remote.BDF[:])
		}
		d.Ports = append(d.Ports, port)
	}
	return d
}

// finite is a number that JSON has a form for.
func finite(f float32) float32 {
	if f-f != 0 {
		return 0
	}
	return f
}

// notes collects what failed, so that eight devices make one line.
type notes struct {
	unknown error // why a device is not known
	order   []string
	count   map[string]int
	first   map[string]uint32
}

// failed notes that a fact of a device is not known. A function that the library
// does not have is said once for all, in Missing.
func (n *notes) failed(what string, id uint32, err error) {
	if err == nil || errors.Is(err, ErrMissing) {
		return
	}
	line := what + ": " + err.Error()
	if n.count == nil {
		n.count, n.first = map[string]int{}, map[string]uint32{}
	}
	if n.count[line]++; n.count[line] == 1 {
		n.order, n.first[line] = append(n.order, line), id
	}
}

func (n *notes) lines() []string {
	lines := make([]string, 0, len(n.order))
	for _, line := range n.order {
		of := fmt.Sprintf(" (device %d", n.first[line])
		if more := n.count[line] - 1; more > 0 {
			of += fmt.Sprintf(" and %d times more", more)
		}
		lines = append(lines, "libmxsml does not tell everything: "+strings.TrimSpace(ascii(line))+of+")")
	}
	return lines
}
