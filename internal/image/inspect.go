// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/compat"
)

// pathVariable is the environment variable with another path of an MXMACA than Path.
const pathVariable = "MACA_PATH"

// inspection is one run of Inspect.
type inspection struct {
	*walker
	facts  Facts
	labels []string
}

// Inspect inspects the image with the ID. env and labels are the image's own;
// labelNames are the labels that may have a version of MXMACA, the most trusted first.
// It fails only if something could not be read: defects of the image are among the
// facts.
func Inspect(ctx context.Context, id string, env []string, labels map[string]string, files Files,
	labelNames []string,
) (Facts, error) {
	i := &inspection{newWalker(files), Facts{ID: id, Env: env, Labels: labels}, labelNames}
	if err := i.run(ctx); err != nil {
		return Facts{}, fmt.Errorf("inspect image %q: %w", id, err)
	}
	return i.facts, nil
}

func (i *inspection) run(ctx context.Context) error {
	found, err := i.inspectDefault(ctx)
	if err != nil {
		return err
	}
	other, err := i.inspectMACAPath(ctx)
	if err != nil {
		return err
	}
	switch {
	case found == nil:
		found = other
	case other != nil && other.Dir != found.Dir:
		i.warn("the image has one MXMACA at %q and another at %s=%q; the first counts", found.Dir, pathVariable, other.Path)
	}
	i.facts.MACA = found
	told := i.statedVersions()
	if found == nil {
		for _, t := range told {
			i.warn("%s of the image says MXMACA %s, but the image has none", t.from, t.version)
		}
		return nil
	}
	own, err := i.versionFromFile(ctx, found.Dir)
	if err != nil {
		return err
	}
	i.chooseVersion(append(own, told...))
	return nil
}

// inspectDefault inspects Path, and checks whether something can be mounted there.
func (i *inspection) inspectDefault(ctx context.Context) (*Install, error) {
	p, err := i.resolvePath(ctx, Path)
	if err != nil {
		return nil, err
	}
	if why := unusableReason(p); why != "" {
		i.facts.Unusable = Path + " of the image " + why
		i.warn("%s", i.facts.Unusable)
		return nil, nil
	}
	if !i.warnLinkedParent(p) && len(p.links) > 0 && p.kind == existing && !isBelow(p.path, path.Dir(Path)) {
		i.warn("%s of the image is a link that leads out of %s, to %q", Path, path.Dir(Path), p.path)
	}
	if p.kind == missing {
		if len(p.links) > 0 {
			i.warn("%s of the image leads over a link to %q, which is not there", Path, p.path)
		}
		return nil, nil
	}
	there, err := i.installed(ctx, p.path)
	if err != nil {
		return nil, err
	}
	if !there {
		i.facts.Empty = true
		return nil, nil
	}
	return &Install{Path: Path, Dir: p.path}, nil
}

// warnLinkedParent warns about a directory above Path that is a link.
func (i *inspection) warnLinkedParent(p place) bool {
	for _, l := range p.links {
		if l.path == path.Dir(Path) {
			i.warn("%s of the image is a link, to %q", l.path, l.target)
			return true
		}
	}
	return false
}

// inspectMACAPath inspects the image's MACA_PATH, if that is another path.
func (i *inspection) inspectMACAPath(ctx context.Context) (*Install, error) {
	at := envValue(i.facts.Env, pathVariable)
	if at == "" || path.Clean(at) == Path {
		return nil, nil
	}
	if !path.IsAbs(at) {
		i.warn("%s of the image is %q, which is not absolute", pathVariable, at)
		return nil, nil
	}
	p, err := i.resolvePath(ctx, at)
	if err != nil {
		return nil, err
	}
	if why := unusableReason(p); why != "" {
		i.warn("%s=%q of the image %s", pathVariable, at, why)
		return nil, nil
	}
	there := false
	if p.isDir() {
		if there, err = i.installed(ctx, p.path); err != nil {
			return nil, err
		}
	}
	if !there {
		i.warn("%s=%q of the image leads to no MXMACA", pathVariable, at)
		return nil, nil
	}
	return &Install{Path: path.Clean(at), Dir: p.path}, nil
}

// unusableReason returns why a path cannot have an MXMACA or a mount; empty if it can.
func unusableReason(p place) string {
	switch {
	case p.kind == circle:
		return fmt.Sprintf("leads in a circle, or over too many links: see %q", p.path)
	case p.kind == blocked:
		return fmt.Sprintf("cannot be reached: %q is not a directory", p.path)
	case p.kind == existing && !p.stat.Mode.IsDir():
		return fmt.Sprintf("is not a directory: %q is %s", p.path, fileType(p.stat.Mode))
	case isSystem(p.path):
		return fmt.Sprintf("leads to %q, a directory of the system", p.path)
	}
	return ""
}

// installed reports whether a directory, given by its path without links, contains an
// MXMACA.
func (i *inspection) installed(ctx context.Context, dir string) (bool, error) {
	text, err := i.followWithin(ctx, dir, versionFile)
	if err != nil || text.isFile() {
		return err == nil, err
	}
	lib, err := i.followWithin(ctx, dir, "lib")
	return lib.isDir(), err
}

// followWithin follows a name in a directory. A file outside of the directory counts as
// missing.
func (i *inspection) followWithin(ctx context.Context, dir, name string) (place, error) {
	p, err := i.resolvePath(ctx, path.Join(dir, name))
	if err == nil && p.kind == existing && !isBelow(p.path, dir) {
		p.kind = missing
	}
	return p, err
}

// versionFromFile returns the version in the installation's Version.txt, or nothing and
// a warning with the reason.
func (i *inspection) versionFromFile(ctx context.Context, dir string) ([]statedVersion, error) {
	file := path.Join(dir, versionFile)
	p, err := i.followWithin(ctx, dir, versionFile)
	if err != nil {
		return nil, err
	}
	switch {
	case p.kind == missing && len(p.links) == 0:
		i.warn("the image has no %q", file)
		return nil, nil
	case p.kind == missing:
		i.warn("%q of the image is a link to %q, which is not read", file, p.path)
		return nil, nil
	case p.kind != existing:
		i.warn("%q of the image leads in a circle or over a file: see %q", file, p.path)
		return nil, nil
	case !p.isFile():
		i.warn("%q of the image is %s, not a file", file, fileType(p.stat.Mode))
		return nil, nil
	case p.stat.Size > maxVersionFile:
		i.warn("%q of the image has %d bytes, more than a version file may have", file, p.stat.Size)
		return nil, nil
	}
	text, err := i.files.File(ctx, p.path, maxVersionFile)
	if errors.Is(err, ErrNotRegular) || errors.Is(err, ErrTooLarge) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, syscall.ELOOP) {
		// It was a small file a moment ago, and an image does not change.
		return nil, fmt.Errorf("the engine contradicts itself: %w", err)
	} else if err != nil {
		return nil, err
	}
	version, err := compat.FromFile(string(text))
	if err != nil {
		i.warn("%q of the image has no version: it %v", file, err)
		return nil, nil
	}
	return []statedVersion{{versionFile, version}}, nil
}

// statedVersion is a version and its source.
type statedVersion struct{ from, version string }

// statedVersions are the versions in the image's labels and environment.
func (i *inspection) statedVersions() []statedVersion {
	var all []statedVersion
	add := func(from, version string) {
		switch {
		case version == "": // not stated
		case compat.IsWord(version):
			all = append(all, statedVersion{from, version})
		default:
			i.warn("%s of the image is %.80q, which is not a version", from, version)
		}
	}
	for _, name := range i.labels {
		add("label "+name, strings.TrimSpace(i.facts.Labels[name]))
	}
	add("environment "+versionVariable, strings.TrimSpace(envValue(i.facts.Env, versionVariable)))
	return all
}

// chooseVersion uses the first version, and warns about versions that differ from it.
func (i *inspection) chooseVersion(all []statedVersion) {
	if len(all) == 0 {
		i.warn("the version of the image's MXMACA is not known")
		return
	}
	first := all[0]
	i.facts.MACA.Version, i.facts.MACA.VersionFrom = first.version, first.from
	for _, other := range all[1:] {
		if !mayAgree(first.version, other.version) {
			i.warn("%s of the image says MXMACA %s and %s says %s; the first counts", first.from, first.version, other.from,
				other.version)
		}
	}
}

func (i *inspection) warn(format string, a ...any) {
	i.facts.Warnings = append(i.facts.Warnings, fmt.Sprintf(format, a...))
}

// envValue returns the value of a variable, the last if there are several.
func envValue(env []string, name string) (value string) {
	for _, text := range env {
		if v, ok := strings.CutPrefix(text, name+"="); ok {
			value = v
		}
	}
	return value
}

// fileType returns the type of a file for a message.
func fileType(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode.IsRegular():
		return "a file"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something unknown"
}

const (
	// versionFile has "Version:3.3.0.15" in its first line.
	versionFile = "Version.txt"
	// maxVersionFile is a limit in bytes; the vendor's file has some dozen.
	maxVersionFile = 64 << 10
	// versionVariable is set in the vendor's images, and overrides versionFile for some
	// of its programs.
	versionVariable = "MACA_AI_VERSION"
)

// mayAgree reports whether two versions may be the same release: one may have fewer
// components.
func mayAgree(a, b string) bool {
	x, err1 := compat.Parse(a)
	y, err2 := compat.Parse(b)
	if err1 != nil || err2 != nil {
		return a == b
	}
	return x.Begins(y) || y.Begins(x)
}
