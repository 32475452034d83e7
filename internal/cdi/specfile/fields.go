package specfile

import (
	"math"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

func (r *reader) spec(v jsontree.Value, s *specs.Spec) {
	r.object(v, func(name string, v jsontree.Value) bool {
		switch name {
		case "cdiVersion":
			s.Version = r.str(v)
		case "kind":
			s.Kind = r.str(v)
		case "annotations":
			s.Annotations = r.annotations(v)
		case "devices":
			s.Devices = list(r, v, r.device)
		case "containerEdits":
			r.edits(v, &s.ContainerEdits)
		default:
			return false
		}
		return true
	})
}

func (r *reader) device(v jsontree.Value) (d specs.Device) {
	r.object(v, func(name string, v jsontree.Value) bool {
		switch name {
		case "name":
			d.Name = r.str(v)
		case "annotations":
			d.Annotations = r.annotations(v)
		case "containerEdits":
			r.edits(v, &d.ContainerEdits)
		default:
			return false
		}
		return true
	})
	return d
}

func (r *reader) edits(v jsontree.Value, e *specs.ContainerEdits) {
	r.object(v, func(name string, v jsontree.Value) bool {
		switch name {
		case "env":
			e.Env = r.texts(v)
		case "deviceNodes":
			e.DeviceNodes = list(r, v, r.deviceNode)
		case "netDevices":
			e.NetDevices = list(r, v, r.netDevice)
		case "hooks":
			e.Hooks = list(r, v, r.hook)
		case "mounts":
			e.Mounts = list(r, v, r.mount)
		case "intelRdt":
			e.IntelRdt = r.intelRdt(v)
		case "additionalGids":
			e.AdditionalGIDs = list(r, v, r.id)
		default:
			return false
		}
		return true
	})
}

func (r *reader) deviceNode(v jsontree.Value) *specs.DeviceNode {
	var n specs.DeviceNode
	r.object(v, func(name string, v jsontree.Value) bool {
		switch name {
		case "path":
			n.Path = r.str(v)
		case "hostPath":
			n.HostPath = r.str(v)
		case "type":
			n.Type = r.str(v)
		case "major":
			n.Major = r.number(v, math.MinInt64, math.MaxInt64)
		case "minor":
			n.Minor = r.number(v, math.MinInt64, math.MaxInt64)
		case "fileMode":
			n.FileMode = r.mode(v)
		case "permissions":
			n.Permissions = r.str(v)
		case "uid":
			n.UID = new(r.id(v))
		case "gid":
			n.GID = new(r.id(v))
		default:
			return false
		}
		return true
	})
	return &n
}

func (r *reader) netDevice(v jsontree.Value) *specs.LinuxNetDevice {
	var d specs.LinuxNetDevice
	r.object(v, func(name string, v jsontree.Value) bool {
		switch name {
		case "hostInterfaceName":
			d.HostInterfaceName = r.str(v)
		case "name":
			d.Name = r.str(v)
		default:
			return false
		}
		return true
	})
	return &d
}

func (r *reader) hook(v jsontree.Value) *specs.Hook {
	var h specs.Hook
	r.object(v, func(name string, v jsontree.Value) bool {
		switch name {
		case "hookName":
			h.HookName = r.str(v)
		case "path":
			h.Path = r.str(v)
		case "args":
			h.Args = r.texts(v)
		case "env":
			h.Env = r.texts(v)
		case "timeout":
			h.Timeout = new(int(r.number(v, math.MinInt32, math.MaxInt32)))
		default:
			return false
		}
		return true
	})
	return &h
}

func (r *reader) mount(v jsontree.Value) *specs.Mount {
	var m specs.Mount
	r.object(v, func(name string, v jsontree.Value) bool {
		switch name {
		case "hostPath":
			m.HostPath = r.str(v)
		case "containerPath":
			m.ContainerPath = r.str(v)
		case "options":
			m.Options = r.texts(v)
		case "type":
			m.Type = r.str(v)
		default:
			return false
		}
		return true
	})
	return &m
}

func (r *reader) intelRdt(v jsontree.Value) *specs.IntelRdt {
	var rdt specs.IntelRdt
	r.object(v, func(name string, v jsontree.Value) bool {
		switch name {
		case "closID":
			rdt.ClosID = r.str(v)
		case "l3CacheSchema":
			rdt.L3CacheSchema = r.str(v)
		case "memBwSchema":
			rdt.MemBwSchema = r.str(v)
		case "schemata":
			rdt.Schemata = r.texts(v)
		case "enableMonitoring":
			rdt.EnableMonitoring = r.boolean(v)
		default:
			return false
		}
		return true
	})
	return &rdt
}
