// SPDX-License-Identifier: Apache-2.0

// Package maca reads the vendor's software below /opt of a host: the driver's
// user-space part and the MXMACA software, of which several versions may be installed.
// It reports where they are, which libraries they have and which libraries are missing.
// Package cdi decides what of them a container gets.
package maca

import (
	"fmt"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Where the vendor's packages install.
const (
	DriverPath = "/opt/mxdriver" // bin/mx-smi, lib/libmxsml.so
	Path       = "/opt/maca"     // a link to /opt/maca-<version>
	N100Path   = "/opt/mxn100"   // the software of the N100

	// versionName is a file with "Version:3.3.0.15" in its first line.
	versionName = "Version.txt"

	// smiLink leads into the driver's user-space part where that is not at DriverPath.
	smiLink = "/usr/bin/mx-smi"
)

// Report is what the host has.
type Report struct {
	// Driver is the directory of the driver's user-space part: DriverPath, or that to which
	// the link smiLink leads; empty if there is neither.
	Driver string
	// MACA is the installation to which Path leads; nil if there is none. Its Version
	// is empty if unknown.
	MACA     *gpu.MACA
	Warnings []string
}

// Read finds the driver's user-space part and the MXMACA software. Both are optional:
// MXMACA may come with the images instead.
func Read(host *hostfs.Root) Report {
	r := Report{Driver: driverDir(host)}
	if _, err := host.Lstat(Path); err != nil {
		return r
	}
	if !host.Exists(Path) {
		r.Warnings = []string{Path + " is a link that leads nowhere"}
		return r
	}
	var l Listing
	if err := l.addInstall(host, Path); err != nil {
		r.Warnings = []string{"no MXMACA: " + err.Error()}
		return r
	}
	r.MACA, r.Warnings = &gpu.MACA{Path: Path, Version: l.Installs[0].Version}, l.Installs[0].Warnings
	return r
}

// driverDir finds the directory of the driver's user-space part. A container gets all of it,
// so one that is shared with other software, such as /usr/local, does not count.
func driverDir(host *hostfs.Root) string {
	if names, err := host.ReadDir(DriverPath); err == nil && len(names) > 0 {
		return DriverPath
	}
	at, err := host.Resolve(smiLink)
	dir, ok := strings.CutSuffix(at, "/bin/mx-smi")
	if err != nil || !ok || path.Base(dir) != path.Base(DriverPath) {
		return ""
	}
	return dir
}

func unknownVersion(err error) string { return fmt.Sprintf("MXMACA version is not known: %v", err) }
