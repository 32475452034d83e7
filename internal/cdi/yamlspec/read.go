package yamlspec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi/specfile"
)

// First reads and validates the first document of data as the CDI library does:
// no unknown fields, and no look at what follows; more tells whether something
// does. Errors are specfile.ErrSpec in one line of printable text, whatever the
// data says.
func First(data []byte) (spec *specs.Spec, more bool, err error) {
	if len(data) > specfile.MaxSpec {
		return nil, false, fmt.Errorf("%w: over %d bytes", specfile.ErrSpec, specfile.MaxSpec)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	err = dec.Decode(&spec)
	switch {
	case errors.Is(err, io.EOF), err == nil && spec == nil:
		return nil, false, fmt.Errorf("%w: empty", specfile.ErrSpec)
	case err != nil:
		return nil, false, refused(err)
	}
	if err := specfile.Validate(spec); err != nil {
		return nil, false, refused(err)
	}
	return spec, !errors.Is(dec.Decode(new(yaml.Node)), io.EOF), nil
}

// Read is First without the question whether something follows, as a
// registry wants it.
func Read(data []byte) (*specs.Spec, error) {
	spec, _, err := First(data)
	return spec, err
}

// refused is an ErrSpec with the reason in one line; the YAML parser gives a list
// of lines, and quotes what it read.
func refused(err error) error {
	reason := err.Error()
	var list *yaml.TypeError
	if errors.As(err, &list) {
		reason = strings.Join(list.Errors, "; ")
	}
	return fmt.Errorf("%w: %s", specfile.ErrSpec, specfile.OneLine(reason))
}

// Kind returns the kind that a file states, also if nothing else in it is
// understood, as in the spec of another vendor that is newer than this library;
// empty if it states none.
func Kind(data []byte) string {
	var head struct{ Kind string }
	if err := yaml.Unmarshal(data, &head); err != nil {
		return ""
	}
	return head.Kind
}
