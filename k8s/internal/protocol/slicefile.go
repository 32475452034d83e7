// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// SlicesVariable names the slices of a container for the vendor's software. Its value is that
// of SlicesValue.
const SlicesVariable = "METAX_SGPUS"

// SlicesValue is such as "sgpu=0000:0e:00.0#0;compute=10;vram=1024;alias=k8s-1", for each
// slice in the order of the arguments, with commas between: how the vendor names several is
// not published.
func SlicesValue(gpus []gpu.BDF, slices []gpu.Slice) string {
	words := make([]string, len(slices))
	for i, s := range slices {
		words[i] = fmt.Sprintf("sgpu=%s#%d;compute=%d;vram=%d;alias=%s", gpus[i], s.Index, s.ComputePercent, s.MemoryMiB,
			s.Alias)
	}
	return strings.Join(words, ",")
}

// SliceFile says which device of the kubelet a slice belongs to, and so which container: the
// token of the container that it was made for.
type SliceFile struct {
	ID                 string // of the kubelet's device
	Compute, MemoryMiB int    // percent; MiB
	Alias              string
}

// MaxSliceFile is the size of the largest SliceFile in bytes.
const MaxSliceFile = 4 << 10

// String is the content of the file, "id=GPU-1-sgpu0;compute=10;vram=1024;alias=k8s-1". The
// vendor's exporter reads the id.
func (f SliceFile) String() string {
	return fmt.Sprintf("id=%s;compute=%d;vram=%d;alias=%s", f.ID, f.Compute, f.MemoryMiB, f.Alias)
}

// ParseSliceFile reads the content of a file. Keys that are not known do not matter. The error
// is one line that can be printed.
func ParseSliceFile(text string) (f SliceFile, err error) {
	if len(text) > MaxSliceFile {
		return SliceFile{}, fmt.Errorf("a slice's file has %d bytes; at most %d are read", len(text), MaxSliceFile)
	}
	for word := range strings.SplitSeq(strings.TrimSpace(text), ";") {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "id":
			f.ID = value
		case "alias":
			f.Alias = value
		case "compute":
			f.Compute, err = strconv.Atoi(value)
		case "vram":
			f.MemoryMiB, err = strconv.Atoi(value)
		}
		if err != nil {
			return SliceFile{}, fmt.Errorf("a slice's file has %.80q; want a number", word)
		}
	}
	if f.ID == "" {
		return SliceFile{}, fmt.Errorf("a slice's file has no id: %.80q", text)
	}
	return f, nil
}
