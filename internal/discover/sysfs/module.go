// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Files about the driver as a whole.
const (
	release    = "/proc/sys/kernel/osrelease"
	modulesDir = "/lib/modules"
)

// moduleDirs are the driver's modules: that of whole GPUs, and that of GPUs that are split
// into virtual functions.
var moduleDirs = []string{"/sys/module/metax", "/sys/module/mxgvm", "/sys/module/MXGVM"}

// ServesGPUs reports whether a kernel driver, by its name, is one of MetaX's.
func ServesGPUs(driver string) bool {
	return strings.EqualFold(driver, "metax") || strings.EqualFold(driver, "mxgvm")
}

// Module is the kernel module of the driver.
type Module struct {
	// Loaded reports whether the kernel has it now: /sys/module/metax or, on hosts whose GPUs
	// are split into virtual functions, /sys/module/mxgvm.
	Loaded bool
	// Version is empty if it is unknown. For a module that is not loaded it is the
	// version that modprobe would load.
	Version string
	// File is where Version was read: version in the module's directory, or the module's file
	// below /lib/modules/<release>.
	File string
	// Warnings are the reasons why Version is unknown or uncertain.
	Warnings []string
}

// loadedModule returns what the kernel reports about the module.
func loadedModule(host *hostfs.Root) Module {
	at := slices.IndexFunc(moduleDirs, host.Exists)
	if at < 0 {
		return Module{}
	}
	m, file := Module{Loaded: true}, moduleDirs[at]+"/version"
	text, err := host.ReadFile(file)
	switch {
	case err != nil:
		m.versionUnknown("%v", err) // a module without a version has no such file
	case !compat.IsWord(strings.TrimSpace(string(text))):
		m.versionUnknown("%s is %.40q", file, strings.TrimSpace(string(text)))
	default:
		m.Version, m.File = strings.TrimSpace(string(text)), file
	}
	return m
}

func (m *Module) versionUnknown(format string, a ...any) {
	m.Warnings = []string{"driver version is not known: " + fmt.Sprintf(format, a...)}
}

// ReadModule returns what the kernel reports about the module metax. If the kernel has
// no version of it, the version comes from the module's file, which modules.dep of the
// running kernel names; it may be compressed by gzip. unpack maps other extensions,
// such as ".zst", to a function that unpacks them; it may be nil. The file is large, so
// do not call this on the path of a container start.
func ReadModule(host *hostfs.Root, unpack map[string]Unpack) Module {
	m := loadedModule(host)
	if m.Version != "" || slices.ContainsFunc(moduleDirs, func(dir string) bool { return host.Exists(dir + "/version") }) {
		return m
	}
	r := &reader{host: host}
	file, err := r.moduleFile()
	var version string
	if err == nil {
		version, err = r.modinfoVersion(file, unpack)
	}
	switch {
	case err == nil:
		m.Version, m.File, m.Warnings = version, file, nil
		if m.Loaded {
			m.Warnings = []string{fmt.Sprintf("driver version was read from %s; the loaded module may have another version",
				host.Join(file))}
		}
	case m.Loaded || !errors.Is(err, fs.ErrNotExist):
		m.versionUnknown("%v", err)
	}
	return m
}

// ModuleInstalled reports whether modprobe would find the module metax. It is not known where
// modules.dep of the running kernel cannot be read. That file is large, so do not call this on
// the path of a container start.
func ModuleInstalled(host *hostfs.Root) (installed, known bool) {
	_, err := (&reader{host: host}).moduleFile()
	return err == nil, err == nil || errors.Is(err, errNotInstalled)
}

// DriverMode returns how the loaded module metax came to the host: gpu.DriverNative if it is
// installed there, gpu.DriverCloud if it is not, and nothing if that is not known.
func DriverMode(host *hostfs.Root) string {
	installed, known := ModuleInstalled(host)
	switch {
	case installed:
		return gpu.DriverNative
	case known:
		return gpu.DriverCloud
	}
	return ""
}

// errNotInstalled reports a list of modules without metax.
var errNotInstalled = fmt.Errorf("it does not name the module metax: %w", fs.ErrNotExist)

// moduleFile returns the path of the file that modprobe would load on the running
// kernel. It fails with fs.ErrNotExist if there is none.
func (r *reader) moduleFile() (string, error) {
	kernel, err := r.readText(release)
	if err != nil {
		return "", err
	}
	if !compat.IsWord(kernel) || strings.Contains(kernel, "/") || strings.HasPrefix(kernel, ".") {
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
		if base, isModule := strings.CutPrefix(path.Base(file), "metax.ko"); !ok || !isModule ||
			(base != "" && base[0] != '.') {
			continue
		}
		if !path.IsAbs(file) { // as depmod writes it
			file = path.Join(dir, file)
		}
		return path.Clean(file), nil
	}
	return "", fmt.Errorf("%s: %w", r.host.Join(name), errNotInstalled)
}
