// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// filePerm lets engines that do not run as root read the spec.
const filePerm = 0o644

// Write puts a spec into a file with mode 0644 and reports whether that changed
// anything: a file with the same contents is not touched, so that no engine reloads it.
// Nothing is written unless the whole spec is valid, and readers see the old file or the
// new one. Of several writers the last one wins; each writes a whole spec, so they need
// no lock. A file with a spec of another kind, or one that IsOwn denies, belongs to somebody
// else and stays.
func Write(path string, spec *specs.Spec, format Format) (changed bool, err error) {
	data, err := Encode(spec, format)
	if err != nil {
		return false, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return false, fmt.Errorf("write CDI spec: %w", err)
	}
	old, foreign, err := specAt(path)
	switch {
	case err != nil: // returned below
	case old != "" && old != spec.Kind:
		err = fmt.Errorf("%s defines %s; not overwritten", path, old)
	case foreign:
		err = fmt.Errorf("%s is another program's; not overwritten. If nothing needs it, remove it first", path)
	default:
		changed, err = atomicfile.Write(path, data, atomicfile.Options{Perm: filePerm})
	}
	if err != nil {
		return changed, fmt.Errorf("write CDI spec: %w", err)
	}
	return changed, nil
}

// Remove removes the file with the spec of a kind, and reports whether there was one. A
// file with anything else stays.
func Remove(path, kind string) (removed bool, err error) {
	old, foreign, err := specAt(path)
	if err == nil && old == kind && !foreign {
		removed, err = atomicfile.Remove(path)
	}
	if err != nil {
		return removed, fmt.Errorf("remove CDI spec: %w", err)
	}
	return removed, nil
}

// specAt returns the kind of the spec in a file, empty where there is no file or
// something else than a regular file, and whether another program wrote it.
func specAt(path string) (kind string, foreign bool, err error) {
	host, err := hostfs.New("/")
	if err != nil {
		return "", false, err
	}
	data, err := host.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, hostfs.ErrNotRegular) {
		return "", false, nil
	}
	if spec, decodeErr := decodeSpec(data); decodeErr == nil {
		return spec.Kind, !IsOwn(spec), err
	}
	return kindOf(data), false, err
}
