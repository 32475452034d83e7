// SPDX-License-Identifier: Apache-2.0

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

// How a container requests devices, besides the names in package request.
const (
	gpuKind        = request.CDIKind // also the annotation
	sgpuKind       = request.SliceKind
	macaKind       = request.SoftwareKind
	visibleDevices = request.VisibleDevices
)

// maxNames is the maximum number of devices that a container may request; a full node
// has 64 GPUs, and "all" is one name.
const maxNames = 1024

// ErrRequest reports a request for devices that is malformed.
var ErrRequest = errors.New("malformed device request")

// Policy states which requests are accepted, besides annotations.
type Policy struct {
	// Environment accepts METAX_VISIBLE_DEVICES of a privileged container. The author
	// of an image can set the variable.
	Environment bool
	// Unprivileged accepts it for any container.
	Unprivileged bool
	// NoMounts ignores device-list mounts, for callers that can no longer remove them
	// from the config.
	NoMounts bool
	// MACA adds the host's MXMACA, DefaultMACA, to a request for GPUs or slices that says
	// nothing of MXMACA.
	MACA bool
}

// DefaultMACA is the name of the host's MXMACA.
const DefaultMACA = macaKind + "=host"

// Request returns the qualified CDI names that the container requests, without
// duplicates; nil if it requests nothing. The order is: annotations as in the text,
// mounts, the environment. The environment counts only if nothing else mentions GPUs.
// Errors are ErrRequest and name the place of the request.
func (c *Config) Request(p Policy) ([]string, error) {
	var r requestedNames
	for key, value := range c.valueAt("annotations").Members() {
		if err := r.annotation(key, value); err != nil {
			return nil, err
		}
	}
	if !p.NoMounts {
		for m := range c.valueAt("mounts").Elements() {
			if err := r.mount(m); err != nil {
				return nil, err
			}
		}
	}
	if p.Environment && !r.gpu && (p.Unprivileged || c.Privileged()) {
		if err := r.environment(c.valueAt("process", "env")); err != nil {
			return nil, err
		}
	}
	if p.MACA && !r.maca && slices.ContainsFunc(r.names, isGPU) {
		r.add(DefaultMACA)
	}
	if len(r.names) > maxNames {
		return nil, fmt.Errorf("%w: more than %d devices", ErrRequest, maxNames)
	}
	return r.names, nil
}

// requestedNames collects the requested devices.
type requestedNames struct {
	names []string
	gpu   bool // GPUs were requested, or refused with "none"
	maca  bool // the same for MXMACA
}

func (r *requestedNames) add(name string) {
	r.gpu = r.gpu || isGPU(name)
	r.maca = r.maca || strings.HasPrefix(name, macaKind+"=")
	if len(r.names) <= maxNames && !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
}

// isGPU reports whether a name is that of a GPU or a slice.
func isGPU(name string) bool {
	return strings.HasPrefix(name, gpuKind+"=") || strings.HasPrefix(name, sgpuKind+"=")
}

func (r *requestedNames) annotation(key, value jsontree.Value) error {
	name := key.Text()
	switch {
	case strings.HasPrefix(name, request.CDIAnnotations):
		for device := range strings.SplitSeq(value.Text(), ",") {
			if !parser.IsQualifiedName(device) {
				return malformed("annotation "+quotedKey(name), device, "not a qualified CDI device name, vendor/class=device")
			}
			r.add(device)
		}
	case name == gpuKind:
		r.gpu = r.gpu || value.Is("none")
		return r.addNames("annotation "+name, gpuKind, value.Text(), "none")
	case name == sgpuKind:
		return r.addNames("annotation "+name, sgpuKind, value.Text(), "none")
	case name == macaKind:
		word := value.Text()
		if strings.Contains(word, ",") {
			return malformed("annotation "+name, word, `want "host" or one version`)
		}
		r.maca = r.maca || word == "none"
		return r.addNames("annotation "+name, macaKind, word, "none")
	}
	return nil
}

// mount reads a device-list mount. An engine's volume can be one; an image's label or
// variable cannot.
func (r *requestedNames) mount(m jsontree.Value) error {
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

// deviceList returns the name below request.DeviceList in a mount of /dev/null.
func deviceList(m jsontree.Value) (device string, ok bool) {
	source, destination := m.At("source"), m.At("destination")
	if source.Kind() != jsontree.String || destination.Kind() != jsontree.String ||
		path.Clean(source.Text()) != "/dev/null" {
		return "", false
	}
	return strings.CutPrefix(path.Clean(destination.Text()), request.DeviceList)
}

// environment reads the last METAX_VISIBLE_DEVICES, which is the effective one.
func (r *requestedNames) environment(env jsontree.Value) error {
	value := ""
	for v := range env.Elements() {
		if v, ok := strings.CutPrefix(v.Text(), visibleDevices+"="); ok {
			value = v
		}
	}
	return r.addNames("variable "+visibleDevices, gpuKind, value, "none", "void")
}

// addNames parses a comma-separated list of device names of a kind. An empty list, or a
// word in nothing, requests nothing.
func (r *requestedNames) addNames(where, kind, list string, nothing ...string) error {
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

// quotedKey is a key for a message.
func quotedKey(key string) string { return fmt.Sprintf("%.80q", key) }
