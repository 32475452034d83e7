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
// anything: a file that says the same already is not touched, so that no engine
// reloads it. Nothing is written unless the whole spec is sound, and readers see
// the old file or the new one. Of several writers the last one wins; each
// writes a whole spec, so they need no lock. A file that holds a spec of another
// kind, hence of somebody else, is left unchanged.
func Write(path string, spec *specs.Spec, format Format) (changed bool, err error) {
	data, err := Encode(spec, format)
	if err != nil {
		return false, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return false, fmt.Errorf("write CDI spec: %w", err)
	}
	old, err := held(path)
	switch {
	case err != nil:
	case old != "" && old != spec.Kind:
		err = fmt.Errorf("%s defines %s; not overwritten", path, old)
	default:
		changed, err = atomicfile.Write(path, data, atomicfile.Options{Perm: filePerm})
	}
	if err != nil {
		return changed, fmt.Errorf("write CDI spec: %w", err)
	}
	return changed, nil
}

// Remove takes away the file that holds the spec of a kind, and reports whether
// there was one. A file that holds anything else stays.
func Remove(path, kind string) (removed bool, err error) {
	old, err := held(path)
	if err == nil && old == kind {
		removed, err = atomicfile.Remove(path)
	}
	if err != nil {
		return removed, fmt.Errorf("remove CDI spec: %w", err)
	}
	return removed, nil
}

// held is the kind of the spec that a file holds; empty where there is none. What
// is no file is not for us to judge.
func held(path string) (kind string, err error) {
	host, err := hostfs.New("/")
	if err != nil {
		return "", err
	}
	data, err := host.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, hostfs.ErrNotRegular) {
		return "", nil
	}
	return kindOf(data), err
}
