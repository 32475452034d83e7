package oci

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/pkg/parser"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
	"github.com/metax-ctk/container-toolkit/internal/request"
)

// How a container asks for devices, beside what request says.
const (
	gpuKind        = request.CDIKind // also the annotation
	sgpuKind       = request.SliceKind
	macaKind       = request.SoftwareKind
	visibleDevices = "METAX_VISIBLE_DEVICES"
)

// maxNames is how many devices a container may ask for; a full Node has 64 GPUs,
// and "all" is one name.
const maxNames = 1024

// ErrRequest reports a request for devices that is malformed.
var ErrRequest = errors.New("malformed device request")

// Policy says which requests count, beside annotations.
type Policy struct {
	// Environment lets METAX_VISIBLE_DEVICES of a privileged container count,
	// which the maker of an image can set.
	Environment bool
	// Unprivileged lets it count for any container.
	Unprivileged bool
	// NoMounts passes over device-list mounts: for those who cannot take them out
	// of the config any more.
	NoMounts bool
}

// Request returns the qualified CDI names that the container asks for, each
// once; nil if it asks for nothing. The order is that of annotations in the
// text, then mounts, then the environment, which counts only if nothing else
// says a word about GPUs. Errors are ErrRequest and name where it stands.
func (c *Config) Request(p Policy) ([]string, error) {
	var r asked
	for key, value := range c.at("annotations").Members() {
		if err := r.annotation(key, value); err != nil {
			return nil, err
		}
	}
	if !p.NoMounts {
		for m := range c.at("mounts").Elements() {
			if err := r.mount(m); err != nil {
				return nil, err
			}
		}
	}
	if p.Environment && !r.gpu && (p.Unprivileged || c.Privileged()) {
		if err := r.environment(c.at("process", "env")); err != nil {
			return nil, err
		}
	}
	if len(r.names) > maxNames {
		return nil, fmt.Errorf("%w: more than %d devices", ErrRequest, maxNames)
	}
	return r.names, nil
}

// asked is what has been asked for so far.
type asked struct {
	names []string
	gpu   bool // GPUs have been asked for, or refused by name
}

func (r *asked) add(name string) {
	r.gpu = r.gpu || strings.HasPrefix(name, gpuKind+"=") || strings.HasPrefix(name, sgpuKind+"=")
	if len(r.names) <= maxNames && !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
}

func (r *asked) annotation(key, value jsontree.Value) error {
	name := key.Text()
	switch {
	case strings.HasPrefix(name, request.CDIAnnotations):
		for device := range strings.SplitSeq(value.Text(), ",") {
			if !parser.IsQualifiedName(device) {
				return malformed("annotation "+shown(name), device, "not a qualified CDI device name, vendor/class=device")
			}
			r.add(device)
		}
	case name == gpuKind:
		r.gpu = r.gpu || value.Is("none")
		return r.words("annotation "+name, gpuKind, value.Text(), "none")
	case name == sgpuKind:
		return r.words("annotation "+name, sgpuKind, value.Text(), "none")
	case name == macaKind:
		word := value.Text()
		if strings.Contains(word, ",") {
			return malformed("annotation "+name, word, `want "host" or one version`)
		}
		return r.words("annotation "+name, macaKind, word, "none")
	}
	return nil
}

// mount reads a device-list mount, which an engine's volume can be, and an
// image's label or variable cannot.
func (r *asked) mount(m jsontree.Value) error {
	device, ok := deviceList(m)
	if !ok {
		return nil
	}
	if parser.ValidateDeviceName(device) != nil {
		return malformed("mount below "+request.DeviceList, device, "not a device name")
	}
	r.add(gpuKind + "=" + device)
	return nil
}

// deviceList returns what stands below request.DeviceList in a mount of /dev/null.
func deviceList(m jsontree.Value) (device string, ok bool) {
	source, destination := m.At("source"), m.At("destination")
	if source.Kind() != jsontree.String || destination.Kind() != jsontree.String || path.Clean(source.Text()) != "/dev/null" {
		return "", false
	}
	return strings.CutPrefix(path.Clean(destination.Text()), request.DeviceList)
}

// environment reads the last METAX_VISIBLE_DEVICES, which is the one that a
// process gets to see.
func (r *asked) environment(env jsontree.Value) error {
	value := ""
	for v := range env.Elements() {
		if v, ok := strings.CutPrefix(v.Text(), visibleDevices+"="); ok {
			value = v
		}
	}
	return r.words("variable "+visibleDevices, gpuKind, value, "none", "void")
}

// words reads a comma list of device names of a kind; nothing, or one of the
// words for it, asks for nothing.
func (r *asked) words(where, kind, list string, nothing ...string) error {
	if list == "" || slices.Contains(nothing, list) {
		return nil
	}
	for device := range strings.SplitSeq(list, ",") {
		if parser.ValidateDeviceName(device) != nil {
			return malformed(where, device, "not a device name")
		}
		r.add(kind + "=" + device)
	}
	return nil
}

func malformed(where, what, why string) error {
	return fmt.Errorf("%w: %s: %.80q: %s", ErrRequest, where, what, why)
}

// shown is a key for a message.
func shown(key string) string { return fmt.Sprintf("%.80q", key) }
