// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// MaxSpec is the size in bytes beyond which a spec is not read; that of 64 GPUs takes
// a twelfth.
const MaxSpec = 1 << 20

// Load reads the spec at an absolute path of the host, strictly, as Decode does.
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

// Decode reads one spec, JSON or YAML, and validates it. A field that CDI does not have, a
// key that occurs twice, and anything after the spec are errors. The message is one line
// of printable text, whatever the data contains.
func Decode(data []byte) (*specs.Spec, error) {
	spec, err := decodeSpec(data)
	if err != nil {
		return nil, err
	}
	if json.Valid(data) { // nothing stands after its one value
		return spec, nil
	}
	rest := yaml.NewDecoder(bytes.NewReader(data))
	_ = rest.Decode(new(yaml.Node)) // the first document, which decodeSpec has read
	if !errors.Is(rest.Decode(new(yaml.Node)), io.EOF) {
		return nil, fmt.Errorf("%w: engines read only the first document, and there is text after it", ErrSpec)
	}
	return spec, nil
}

// decodeSpec reads as the library does: JSON and YAML, no unknown fields, and nothing after
// the first document.
func decodeSpec(data []byte) (spec *specs.Spec, err error) {
	defer recoverPanic(&err)
	if len(data) > MaxSpec {
		return nil, fmt.Errorf("%w: over %d bytes", ErrSpec, MaxSpec)
	}
	spec, plain := parsePlain(data)
	if !plain {
		spec, err = libcdi.ParseSpec(data)
	}
	switch {
	case errors.Is(err, io.EOF), err == nil && spec == nil:
		return nil, fmt.Errorf("%w: empty", ErrSpec)
	case err != nil:
		return nil, specError(errors.Unwrap(err))
	}
	if err := validateSpec(spec); err != nil {
		return nil, specError(err)
	}
	return spec, nil
}

// specError is an ErrSpec with the reason in one line; the YAML parser gives a list of lines,
// and quotes what it read.
func specError(err error) error {
	reason := err.Error()
	var list *yaml.TypeError
	if errors.As(err, &list) {
		const most = 3
		reason = strings.Join(list.Errors[:min(len(list.Errors), most)], "; ")
		if more := len(list.Errors) - most; more > 0 {
			reason += fmt.Sprintf("; %d more", more)
		}
	}
	return fmt.Errorf("%w: %s", ErrSpec, terminal.Line(reason))
}

// kindOf returns the kind that a file states, even if nothing else in it can be read, as
// in another vendor's spec that is newer than this library; empty if it states none.
func kindOf(data []byte) string {
	if spec, plain := parsePlain(data); plain {
		return spec.Kind
	}
	var head struct{ Kind string }
	if err := yaml.Unmarshal(data, &head); err != nil {
		return ""
	}
	return head.Kind
}
