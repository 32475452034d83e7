package request

import (
	"errors"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// The reasons a well-formed value is refused for, inside a ValueError.
var (
	// ErrMixed reports a request for whole GPUs and for slices.
	ErrMixed = errors.New("whole GPUs and slices (sGPU) together")
	// ErrDriver reports a request that is meant for another vendor's driver.
	ErrDriver = errors.New("not a MetaX driver")
)

// ValueError reports a value that asks for nothing this package knows. Like the
// other errors here it does not name the option, of which there are several:
// the caller puts it in front.
type ValueError struct {
	Value string // as it was given
	Err   error  // what is wrong with it
	Hint  string // what to write instead
}

// Error says what is wrong and what to write instead, on one line.
func (e *ValueError) Error() string {
	const shown = 80 // bytes of a long value; the end of it helps nobody
	value := fmt.Sprintf("%q", e.Value)
	if len(e.Value) > shown {
		value = fmt.Sprintf("%q…", strings.ToValidUTF8(e.Value[:shown], ""))
	}
	return fmt.Sprintf("invalid value %s: %v; %s", value, e.Err, e.Hint)
}

// Unwrap gives the reason.
func (e *ValueError) Unwrap() error { return e.Err }

// UnknownIDError reports an ID that no GPU of the node answers to.
type UnknownIDError struct {
	ID      string
	Indices []int // of the GPUs that there are, ascending
}

func (e *UnknownIDError) Error() string {
	has := "no GPU"
	switch len(e.Indices) {
	case 0:
	case 1:
		has = fmt.Sprintf("only GPU %d (see metax-ctk device list)", e.Indices[0])
	default:
		has = fmt.Sprintf("GPUs %s (see metax-ctk device list)", wording.Ranges(e.Indices))
	}
	return fmt.Sprintf("GPU %q: this node has %s", e.ID, has)
}

// AmbiguousIDError reports an ID that several GPUs answer to, such as a number
// that is the index of one and the serial number of another.
type AmbiguousIDError struct {
	ID   string
	GPUs []string // what the GPUs are called, in the order of the node
}

func (e *AmbiguousIDError) Error() string {
	return fmt.Sprintf("GPU %q: that may be %s; name it by UUID or PCI address (see metax-ctk device list)",
		e.ID, strings.Join(e.GPUs, " or "))
}

// SameGPUError reports two IDs that are one GPU.
type SameGPUError struct {
	First, Second string // the IDs, in the order given
	GPU           string // what the GPU is called
}

func (e *SameGPUError) Error() string {
	return fmt.Sprintf("GPU %q and GPU %q: both are %s; name it once", e.First, e.Second, e.GPU)
}

// UnknownSliceError reports an ID that no slice of the node answers to.
type UnknownSliceError struct {
	ID     string
	Slices []string // the names of those that there are, in the order of the node
}

func (e *UnknownSliceError) Error() string {
	const shown = 8
	has := "no slice (metax-ctk sgpu create makes one)"
	switch n := len(e.Slices); {
	case n > shown:
		has = fmt.Sprintf("%s and %d more (see metax-ctk sgpu list)", strings.Join(e.Slices[:shown], ", "), n-shown)
	case n > 0:
		has = strings.Join(e.Slices, ", ") + " (see metax-ctk sgpu list)"
	}
	return fmt.Sprintf("slice %q: this node has %s", e.ID, has)
}

// AmbiguousSliceError reports an ID that several slices answer to.
type AmbiguousSliceError struct {
	ID     string
	Slices []string // what the slices are called, in the order of the node
}

func (e *AmbiguousSliceError) Error() string {
	return fmt.Sprintf("slice %q: that may be %s (see metax-ctk sgpu list)", e.ID, strings.Join(e.Slices, " or "))
}

// SameSliceError reports two IDs that are one slice.
type SameSliceError struct {
	First, Second string // the IDs, in the order given
	Slice         string // what the slice is called
}

func (e *SameSliceError) Error() string {
	return fmt.Sprintf("slice %q and slice %q: both are %s; name it once", e.First, e.Second, e.Slice)
}
