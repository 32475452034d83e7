// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Slice is a slice that a scheduler chose for a pod.
type Slice struct {
	UUID    gpu.UUID `json:"uuid"`    // of the GPU
	Compute int      `json:"compute"` // percent of the GPU's compute units, 0 to 100; 100 is the whole GPU
	// MemoryMiB is 0 if the scheduler does not say.
	MemoryMiB int `json:"vRam"`
}

// Whole reports whether it is a whole GPU.
func (s Slice) Whole() bool { return s.Compute == 100 }

const (
	maxSlicesText  = 64 << 10
	maxSliceLists  = 64 // containers of a pod
	maxSlices      = 128
	maxSliceMemory = 1 << 30
)

// ParseSlices reads a SlicesAnnotation: a list of lists, as the scheduler divides them. The
// error is a protocol.ErrAnnotation.
func ParseSlices(text string) ([][]Slice, error) {
	if len(text) > maxSlicesText {
		return nil, protocol.Invalid(SlicesAnnotation, "%d bytes; at most %d are read", len(text), maxSlicesText)
	}
	var raw [][]struct {
		UUID    string `json:"uuid"`
		Compute int    `json:"compute"`
		VRAM    int    `json:"vRam"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, protocol.Invalid(SlicesAnnotation, "%.80q is not a list of lists of slices", text)
	}
	if len(raw) > maxSliceLists {
		return nil, protocol.Invalid(SlicesAnnotation, "%d lists; at most %d are read", len(raw), maxSliceLists)
	}
	lists := make([][]Slice, len(raw))
	for i, list := range raw {
		if len(list) > maxSlices {
			return nil, protocol.Invalid(SlicesAnnotation, "%d slices in one list; at most %d are read", len(list), maxSlices)
		}
		for _, s := range list {
			u, err := gpu.ParseUUID(s.UUID)
			switch {
			case err != nil:
				return nil, protocol.Invalid(SlicesAnnotation, "%.40q is not the UUID of a GPU", s.UUID)
			case s.Compute < 0 || s.Compute > 100:
				return nil, protocol.Invalid(SlicesAnnotation, "compute %d of %s; want 0 to 100", s.Compute, u)
			case s.VRAM < 0 || s.VRAM > maxSliceMemory:
				return nil, protocol.Invalid(SlicesAnnotation, "vRam %d of %s; want MiB", s.VRAM, u)
			}
			lists[i] = append(lists[i], Slice{u, s.Compute, s.VRAM})
		}
	}
	return lists, nil
}

// SliceChoice is what the annotations of a pod say about its slices.
type SliceChoice struct {
	Lists  [][]Slice // by the scheduler; nil if it chose none
	QoS    string    // of gpu.QoSClasses; empty if the pod does not say
	Online bool      // the pod is of the class online, whose slices have no share of compute
	Phase  string    // the PhaseAnnotation, of any value
}

// ParseSliceChoice reads the annotations of a pod. It fails if one is not valid: unlike a
// choice of whole GPUs, there is nothing to give the pod instead.
func ParseSliceChoice(annotations map[string]string) (c SliceChoice, err error) {
	if text, ok := annotations[SlicesAnnotation]; ok {
		if c.Lists, err = ParseSlices(text); err != nil {
			return SliceChoice{}, err
		}
	}
	if text, ok := annotations[QoSAnnotation]; ok {
		c.QoS = text
		if !slices.Contains(gpu.QoSClasses(), text) {
			return SliceChoice{}, protocol.Invalid(QoSAnnotation, "%.40q; want %s, %s or %s", text, gpu.QoSBestEffort,
				gpu.QoSFixedShare, gpu.QoSBurstShare)
		}
	}
	c.Online = annotations[AppClassAnnotation] == "online"
	c.Phase = annotations[PhaseAnnotation]
	return c, nil
}
