// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strconv"
	"strings"
)

// SoftwareKind is the CDI kind of the host's MXMACA.
const SoftwareKind = "metax-tech.com/maca"

// The CDI kinds whose device names are accepted as IDs: "metax-tech.com/gpu=0" is CDI's
// GPU "0", "metax-tech.com/sgpu=…" the slice of that name.
const (
	CDIKind   = "metax-tech.com/gpu"
	SliceKind = "metax-tech.com/sgpu"
)

// How a container's configuration requests devices without --gpus: by an annotation
// named like the kind, and by these. Package oci reads them to inject the devices,
// package occupancy to count which GPUs are in use.
const (
	// CDIAnnotations begins the names of CDI's annotations, whose values are
	// comma-separated qualified device names of any kind.
	CDIAnnotations = "cdi.k8s.io/"
	// A mount from /dev/null to DeviceList + NAME, in the container, requests the GPU
	// of that name.
	DeviceList = "/var/run/metax-container-devices/"
	// VisibleDevices is the variable in which a container requests GPUs where the settings
	// allow that, because an image can set it.
	VisibleDevices = "METAX_VISIBLE_DEVICES"
)

// Request is what --gpus requests. Exactly one of its forms is set.
type Request struct {
	// All requests every GPU of the node.
	All bool
	// Count requests any GPUs of that number, at least 1.
	Count int
	// IDs requests these GPUs: each is an index, a range of indices ("0-3"), a UUID, a PCI
	// address or a serial number, without duplicates and without the prefix of CDIKind.
	IDs []string
	// Slices requests these slices of GPUs: each is the UUID of a slice, or the PCI
	// address of a virtual function, without duplicates and without "sgpu:" or the
	// prefix of SliceKind.
	Slices []string
}

// String is the shortest equivalent value of --gpus: "all", "2", "[0,2]" or
// "[sgpu:UUID]". Parse reads it back to an equal Request.
func (r Request) String() string {
	switch {
	case r.All:
		return "all"
	case len(r.IDs) > 0:
		return "[" + strings.Join(r.IDs, ",") + "]"
	case len(r.Slices) > 0:
		return "[" + slicePrefix + strings.Join(r.Slices, ","+slicePrefix) + "]"
	}
	return strconv.Itoa(r.Count)
}
