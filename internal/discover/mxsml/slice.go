// SPDX-License-Identifier: Apache-2.0

package mxsml

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// ErrRequest reports a slice that no GPU can have.
var ErrRequest = errors.New("invalid slice")

// The sizes of slices.
const (
	// The memory of a slice is a multiple of StepMiB.
	StepMiB = 128
	// MaxAlias is the maximum length of an alias: the size of the library's buffer
	// without the final zero byte.
	MaxAlias = 31
)

// SliceRequest describes an sGPU to create.
type SliceRequest struct {
	BDF       gpu.BDF // of the GPU to cut it from
	Compute   int     // percent of its compute units, 1 to 100
	MemoryMiB int     // a multiple of StepMiB
	// QoS is one of gpu.QoSClasses; empty keeps the QoS of the GPU. All slices of a GPU
	// have the same.
	QoS string
	// Alias names the slice for people: letters, digits, "-", "_", "."; may be empty.
	Alias string
}

// Check fails with ErrRequest if no GPU can have such a slice.
func (r SliceRequest) Check() error {
	switch {
	case r.Compute < 1 || r.Compute > 100:
		return fmt.Errorf("%w: %d percent of the compute units; want 1 to 100", ErrRequest, r.Compute)
	case r.MemoryMiB < StepMiB || r.MemoryMiB%StepMiB != 0 || r.MemoryMiB > maxMemoryKiB>>10:
		return fmt.Errorf("%w: %d MiB of memory; want a multiple of %d", ErrRequest, r.MemoryMiB, StepMiB)
	case r.QoS != "" && !slices.Contains(qosClasses, r.QoS):
		return fmt.Errorf("%w: QoS %q; want %s, %s or %s", ErrRequest, r.QoS, gpu.QoSBestEffort, gpu.QoSFixedShare,
			gpu.QoSBurstShare)
	case !validAlias(r.Alias):
		return fmt.Errorf("%w: alias %q; want at most %d letters, digits, dashes, dots and underscores", ErrRequest, r.Alias,
			MaxAlias)
	}
	return nil
}

func validAlias(s string) bool {
	return len(s) <= MaxAlias && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") == ""
}

// qosClasses are the names of the library's scheduling classes, by number.
var qosClasses = gpu.QoSClasses()

// QoS is the name of the library's scheduling class; empty for an unknown number.
func QoS(class uint32) string {
	if class < uint32(len(qosClasses)) {
		return qosClasses[class]
	}
	return ""
}

// Class is the library's number of a QoS that Check has accepted.
func Class(qos string) uint32 { return uint32(slices.Index(qosClasses, qos)) }

// Create makes a slice of a GPU that is in slice mode. It fails as Read does, and with
// ErrRequest. After a timeout or a crash it is unknown whether the slice was created.
func (r Reader) Create(ctx context.Context, s SliceRequest) (gpu.Slice, error) {
	if err := s.Check(); err != nil {
		return gpu.Slice{}, err
	}
	a, err := r.queryLibrary(ctx, "sgpu", "create", "--gpu="+s.BDF.String(), "--compute="+strconv.Itoa(s.Compute),
		"--memory="+strconv.Itoa(s.MemoryMiB), "--qos="+s.QoS, "--alias="+s.Alias)
	if err != nil {
		return gpu.Slice{}, fmt.Errorf("create a slice of GPU %s: %w", s.BDF, err)
	}
	if a.Slice == nil {
		return gpu.Slice{}, fmt.Errorf("create a slice of GPU %s: %w: no slice in it", s.BDF, ErrFormat)
	}
	return a.Slice.toGPUSlice(func(string, ...any) {}), nil
}

// Remove removes the slice of a GPU that has this UUID or, in decimal, index.
func (r Reader) Remove(ctx context.Context, bdf gpu.BDF, slice string) error {
	if !gpu.ValidSliceUUID(slice) {
		return fmt.Errorf("%w: %q is neither a UUID nor an index", ErrRequest, slice)
	}
	if _, err := r.queryLibrary(ctx, "sgpu", "remove", "--gpu="+bdf.String(), "--slice="+slice); err != nil {
		return fmt.Errorf("remove slice %s of GPU %s: %w", slice, bdf, err)
	}
	return nil
}

// SetMode switches slice mode on or off.
func (r Reader) SetMode(ctx context.Context, bdf gpu.BDF, sliced bool) error {
	word := "disable"
	if sliced {
		word = "enable"
	}
	if _, err := r.queryLibrary(ctx, "sgpu", word, "--gpu="+bdf.String()); err != nil {
		return fmt.Errorf("%s slices of GPU %s: %w", word, bdf, err)
	}
	return nil
}

// toGPUSlice checks and converts a slice. An invalid UUID is left out.
func (s Slice) toGPUSlice(warn func(format string, a ...any)) gpu.Slice {
	out := gpu.Slice{
		Kind: gpu.SliceSGPU, Index: s.Index, Alias: s.Alias, ComputePercent: s.ComputePercent, MemoryMiB: s.MemoryMiB,
	}
	if slices.Contains(qosClasses, s.QoS) {
		out.QoS = s.QoS
	}
	if gpu.ValidSliceUUID(s.UUID) {
		out.UUID = s.UUID
	} else if s.UUID != "" {
		warn("ignored the UUID %q of its slice %d", s.UUID, s.Index)
	}
	return out
}
