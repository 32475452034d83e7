// Package maca reads what stands below /opt of a host: the driver's user-space
// part and the MXMACA software, of which there may be several versions. It tells
// where they are, which libraries they hold and which those lack; what of it goes
// into a container is the business of cdi.
package maca

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Where the packages of the vendor install.
const (
	DriverPath = "/opt/mxdriver" // bin/mx-smi, lib/libmxsml.so
	Path       = "/opt/maca"     // a link to /opt/maca-<version>
	N100Path   = "/opt/mxn100"   // the software of the N100

	// versionName says "Version:3.3.0.15" in its first line.
	versionName = "Version.txt"
)

// Report is what the host has.
type Report struct {
	// Driver is DriverPath, or empty if that is not there.
	Driver string
	// MACA is the installation that Path leads to; nil if there is none. Its
	// Version is empty if it does not tell.
	MACA     *gpu.MACA
	Warnings []string
}

// Read looks for the driver's user-space part and the MXMACA software. Neither
// is a must: a host may leave MXMACA to the images.
func Read(host *hostfs.Root) Report {
	r := Report{Driver: driver(host)}
	if _, err := host.Lstat(Path); err != nil {
		return r
	}
	if !host.Exists(Path) {
		r.Warnings = []string{Path + " is a link that leads nowhere"}
		return r
	}
	var l Listing
	if err := l.add(host, Path); err != nil {
		r.Warnings = []string{"no MXMACA: " + err.Error()}
		return r
	}
	r.MACA, r.Warnings = &gpu.MACA{Path: Path, Version: l.Installs[0].Version}, l.Installs[0].Warnings
	return r
}

// driver is DriverPath where there is something in it, or else empty.
func driver(host *hostfs.Root) string {
	if names, err := host.ReadDir(DriverPath); err == nil && len(names) > 0 {
		return DriverPath
	}
	return ""
}

func unknownVersion(err error) string { return fmt.Sprintf("MXMACA version is not known: %v", err) }
