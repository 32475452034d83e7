package request

import (
	"errors"
	"fmt"
	"strings"
)

// The reasons a well-formed value is refused for, inside a ValueError.
var (
	// ErrSlice reports a request for a part of a GPU.
	ErrSlice = errors.New("slices of a GPU (sGPU) cannot be given to a container")
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
		has = fmt.Sprintf("GPUs %s (see metax-ctk device list)", ranges(e.Indices))
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

// ranges writes ascending numbers as "0-3, 5".
func ranges(n []int) string {
	var b strings.Builder
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", n[i])
		if j > i {
			fmt.Fprintf(&b, "-%d", n[j])
		}
		i = j + 1
	}
	return b.String()
}
