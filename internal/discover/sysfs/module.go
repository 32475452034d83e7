package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// The files that tell of the driver as a whole.
const (
	moduleDir     = "/sys/module/metax"
	moduleVersion = "/sys/module/metax/version"
	release       = "/proc/sys/kernel/osrelease"
	modulesDir    = "/lib/modules"
)

// Module is the kernel module of the driver.
type Module struct {
	// Loaded tells whether the kernel has it now: /sys/module/metax.
	Loaded bool
	// Version is empty if it is not known. Of a module that is not loaded it is
	// the version that modprobe would load.
	Version string
	// File is where Version is from: /sys/module/metax/version, or the module's
	// file below /lib/modules/<release>.
	File string
	// Warnings say why Version is not known, or not sure.
	Warnings []string
}

// ReadModule reads of the kernel module metax what the kernel says, and else what
// is in the file that modules.dep of the running kernel names: as it is, or packed
// by gzip. For other suffixes, such as ".zst", unpack has who unpacks them; it may
// be nil.
func ReadModule(host *hostfs.Root, unpack map[string]Unpack) Module {
	r := &reader{host: host}
	m := r.module(unpack)
	m.Warnings = r.warnings
	return m
}

func (r *reader) module(unpack map[string]Unpack) Module {
	m := Module{Loaded: r.host.Exists(moduleDir)}
	version, err := r.text(moduleVersion)
	switch {
	case err == nil && isVersion(version):
		m.Version, m.File = version, moduleVersion
		return m
	case err == nil:
		r.warn("driver version is not known: %s is %.40q", moduleVersion, version)
		return m
	case !errors.Is(err, fs.ErrNotExist):
		r.warn("driver version is not known: %v", err)
		return m
	}
	// A module without a version has no such file.
	file, err := r.moduleFile()
	if err == nil {
		version, err = r.modinfo(file, unpack)
	}
	switch {
	case err == nil && m.Loaded:
		m.Version, m.File = version, file
		r.warn("driver version is that of %s, which may be another than the one that is loaded", r.host.Join(file))
	case err == nil:
		m.Version, m.File = version, file
	case m.Loaded || !errors.Is(err, fs.ErrNotExist):
		r.warn("driver version is not known: %v", err)
	}
	return m
}

// moduleFile returns the path of the file that modprobe would load on the running
// kernel. It fails with fs.ErrNotExist where there is none.
func (r *reader) moduleFile() (string, error) {
	kernel, err := r.text(release)
	if err != nil {
		return "", err
	}
	if !isVersion(kernel) || strings.Contains(kernel, "/") || strings.HasPrefix(kernel, ".") {
		return "", fmt.Errorf("%s is %.40q", release, kernel)
	}
	dir := path.Join(modulesDir, kernel)
	name := path.Join(dir, "modules.dep")
	text, err := r.host.ReadFile(name)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		file, _, ok := strings.Cut(line, ":")
		if base, isModule := strings.CutPrefix(path.Base(file), "metax.ko"); !ok || !isModule || base != "" && base[0] != '.' {
			continue
		}
		if !path.IsAbs(file) { // as depmod writes it
			file = path.Join(dir, file)
		}
		return path.Clean(file), nil
	}
	return "", fmt.Errorf("%s does not name the module metax: %w", r.host.Join(name), fs.ErrNotExist)
}

// isVersion accepts one printable word of a sane length.
func isVersion(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
