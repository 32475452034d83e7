package cdi

import (
	"fmt"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi/specfile"
	"github.com/metax-ctk/container-toolkit/internal/cdi/yamlspec"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// MaxSpec is the size in bytes beyond which a spec is not read; that of the
// largest Node takes less than half.
const MaxSpec = specfile.MaxSpec

// Load reads the spec at an absolute path of the host, strictly, as Decode
// does.
func Load(host *hostfs.Root, path string) (*specs.Spec, error) {
	data, err := host.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read CDI spec: %w", err)
	}
	spec, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("read CDI spec %s: %w", host.Join(path), err)
	}
	return spec, nil
}

// Decode reads one spec, JSON or YAML, and validates it. A field that CDI does
// not have, a key that occurs twice, and anything after the spec are errors; the
// message is one line of printable text, whatever the data says.
func Decode(data []byte) (*specs.Spec, error) {
	spec, more, err := decode(data)
	if err == nil && more {
		err = fmt.Errorf("%w: something stands after the spec, which engines do not read", ErrSpec)
	}
	if err != nil {
		return nil, err
	}
	return spec, nil
}

// decode reads as the library does: the YAML parser for JSON too, no unknown
// fields, and no look at what follows the first document; more tells whether
// something does.
func decode(data []byte) (spec *specs.Spec, more bool, err error) { return yamlspec.First(data) }

// kindOf returns the kind that a file states, empty if it states none.
func kindOf(data []byte) string { return yamlspec.Kind(data) }
