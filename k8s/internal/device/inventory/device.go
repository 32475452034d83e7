// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Device is what the kubelet can give to one container.
type Device struct {
	// ID is the UUID of the GPU (its address, where it is split and its UUID is not known),
	// "<uuid>-vf<i>" for its virtual function i, "<uuid>::<i>" for a share of it, or
	// "<uuid>-sgpu<i>" for a slice; all from 0.
	ID string
	// GPU is the index of the GPU in the Node, and -1 for a GPU that is not in the Node any
	// more.
	GPU  int
	UUID gpu.UUID // of the GPU
	// BDF is the address of the GPU or of the virtual function, by which it has its CDI
	// device. It is zero for a virtual function that does not exist.
	BDF gpu.BDF
	// VF is the number of the virtual function; nil for a whole GPU.
	VF *int
	// Share says that the same GPU is given as other devices also.
	Share bool
	// Slice says that the device only counts: which GPU the slice is of, a scheduler decides.
	Slice   bool
	Healthy bool
	// Code is one of the codes of package health or of this package, and Reason says why in
	// one line for people. Both are empty for a healthy device. An unknown health has no Code.
	Code, Reason string
	// NUMA is the NUMA node; nil if the host does not state it.
	NUMA *int
}

// Options are what an administrator decides about the devices.
type Options struct {
	// Exclude are names of GPUs that are no devices: an index, a UUID or a PCI address.
	Exclude []string
	// HideUnhealthy leaves unhealthy devices out of the list, so that the node's capacity
	// falls with them.
	HideUnhealthy bool
	// ModeSettings say as what GPUs are given; no Mode is ModeNative.
	protocol.ModeSettings
}

// The codes of this package. The others are those of package health.
const (
	Divided = "divided" // the GPU is given in slices, not as a whole
	NoVF    = "no-vf"   // the virtual function does not exist
	HasVF   = "has-vf"  // the GPU has virtual functions, and so no slices
	Unseen  = "unseen"  // no look was taken at the GPU yet
)
