package cdi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi/specfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
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
func decode(data []byte) (spec *specs.Spec, more bool, err error) {
	if len(data) > MaxSpec {
		return nil, false, fmt.Errorf("%w: over %d bytes", ErrSpec, MaxSpec)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	err = dec.Decode(&spec)
	switch {
	case errors.Is(err, io.EOF), err == nil && spec == nil:
		return nil, false, fmt.Errorf("%w: empty", ErrSpec)
	case err != nil:
		return nil, false, refused(err)
	}
	if err := specfile.Validate(spec); err != nil {
		return nil, false, refused(err)
	}
	return spec, !errors.Is(dec.Decode(new(yaml.Node)), io.EOF), nil
}

// refused is an ErrSpec with the reason in one line; the YAML parser gives a list
// of lines, and quotes what it read.
func refused(err error) error {
	reason := err.Error()
	var list *yaml.TypeError
	if errors.As(err, &list) {
		reason = strings.Join(list.Errors, "; ")
	}
	return fmt.Errorf("%w: %s", ErrSpec, terminal.Line(reason))
}

// kindOf returns the kind that a file states, also if nothing else in it is
// understood, as in the spec of another vendor that is newer than this library;
// empty if it states none.
func kindOf(data []byte) string {
	var head struct{ Kind string }
	if err := yaml.Unmarshal(data, &head); err != nil {
		return ""
	}
	return head.Kind
}
