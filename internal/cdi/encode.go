// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"go.yaml.in/yaml/v3"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Format is a notation of specs, and the file name extension by which engines find them; they
// read either notation under either extension.
type Format string

// The notations of specs.
const (
	JSON Format = "json"
	YAML Format = "yaml"
)

// ParseFormat reads "json" or "yaml".
func ParseFormat(s string) (Format, error) {
	if f := Format(s); f == JSON || f == YAML {
		return f, nil
	}
	return "",
		fmt.Errorf("%q is not a CDI spec format; want json or yaml%s", s, wording.Meant(s, string(JSON), string(YAML)))
}

// FormatOf returns the notation that the extension of a path stands for. It is not ok for
// any but ".json" and ".yaml": engines skip such a file.
func FormatOf(path string) (f Format, ok bool) {
	ext := filepath.Ext(path)
	if ext == "" {
		return "", false
	}
	f, err := ParseFormat(ext[1:])
	return f, err == nil
}

// Encode returns a spec as text: indented, with a newline at the end, the same bytes for
// the same spec. It validates the spec before, and reads the text back, so that no caller
// gets bytes that an engine would reject.
func Encode(spec *specs.Spec, format Format) ([]byte, error) {
	var out bytes.Buffer
	err := validateOwn(spec)
	switch {
	case err != nil: // returned below
	case format == JSON:
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err = enc.Encode(spec)
	case format == YAML:
		enc := yaml.NewEncoder(&out)
		enc.SetIndent(2)
		err = errors.Join(enc.Encode(spec), enc.Close())
	default:
		_, err = ParseFormat(string(format))
	}
	if err == nil {
		_, err = Decode(out.Bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("encode CDI spec: %w", err)
	}
	return out.Bytes(), nil
}
