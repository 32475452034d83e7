// SPDX-License-Identifier: Apache-2.0

package gpu

// models are the names that the vendor's library has for PCI device ids, "MXC500 VF" being a
// virtual function of an MXC500. Except for MXC550, MXC500, MXC280 and MXN260 they were not
// seen on hosts.
var models = map[uint16]string{
	0x4000: "MXC550", 0x4001: "MXC500", 0x4004: "MXC550-P", 0x4006: "MXC550-PL", 0x4011: "MXC500-P", 0x4020: "MXC588",
	0x4040: "MXC500X", 0x4080: "MXC290", 0x4081: "MXC280", 0x4083: "MXN260", 0x4100: "MXC600",
	0x0a01: "MXN100", 0x0a03: "MXN100V", 0x0a07: "MXN100E",
}

// n100VFs are the virtual functions whose id does not follow from that of their GPU.
var n100VFs = map[uint16]uint16{0x0a01: 0x0a18, 0x0a03: 0x0a19, 0x0a07: 0x0a1b}

// vfStep lies between the ids of a GPU and its virtual functions.
const vfStep = 0x18

// ModelOf returns the model with a PCI device id, "MXC500" for 0x4001 and "MXC500 VF" for
// 0x4019; empty for an id that no model is known to have.
func ModelOf(device uint16) string {
	if name := models[device]; name != "" {
		return name
	}
	for id, name := range models {
		if device != 0 && VFDevice(id) == device {
			return name + " VF"
		}
	}
	return ""
}

// DeviceOf returns the PCI device id of a model; 0 for one without a known id.
func DeviceOf(model string) uint16 {
	for id, name := range models {
		if name == model {
			return id
		}
	}
	return 0
}

// VFDevice returns the PCI device id of the virtual functions of a GPU by that of the GPU; the
// same id for one that is not known to have any.
func VFDevice(device uint16) uint16 {
	vf, ok := n100VFs[device]
	switch {
	case ok:
		return vf
	case models[device] == "", models[device] == "MXC600":
		return device
	}
	return device + vfStep
}
