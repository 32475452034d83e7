// Package maca reads what stands below /opt of a host: the driver's user-space
// part and the MXMACA software, of which there may be several versions. It tells
// where they are, which libraries they hold and which those lack; what of it goes
// into a container is the business of cdi.
package maca

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Where the packages of the vendor install.
const (
	DriverPath = "/opt/mxdriver" // bin/mx-smi, lib/libmxsml.so
	Path       = "/opt/maca"     // a link to /opt/maca-<version>
	N100Path   = "/opt/mxn100"   // the software of the N100
	// VersionFile says "Version:3.3.0.15" in its first line.
	VersionFile = Path + "/" + versionName

	versionName = "Version.txt"
)

// Report is what the host has.
type Report struct {
	// Driver is DriverPath, or empty if that is not there.
	Driver string
	// MACA is the installation that Path leads to; nil if there is none. Its
	// Version is empty if VersionFile does not tell.
	MACA     *gpu.MACA
	Warnings []string
}

// Read looks for the driver's user-space part and the MXMACA software. Neither
// is a must: a host may leave MXMACA to the images.
func Read(host *hostfs.Root) Report {
	r := Report{Driver: driver(host)}
	if !host.Exists(Path) {
		if names, _ := host.ReadDir(path.Dir(Path)); slices.Contains(names, path.Base(Path)) {
			r.Warnings = append(r.Warnings, Path+" is a link that leads nowhere")
		}
		return r
	}
	version, err := versionOf(host, Path)
	if err != nil {
		r.Warnings = append(r.Warnings, unknownVersion(err))
	}
	r.MACA = &gpu.MACA{Path: Path, Version: version}
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

// parseVersion returns the text behind the last colon of the first line:
// "Version:3.8.0.3-c600u" is "3.8.0.3-c600u".
func parseVersion(file, text string) (string, error) {
	line, _, _ := strings.Cut(text, "\n")
	version := strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:])
	if version == "" || len(version) > 64 || strings.ContainsFunc(version, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s begins with the line %.80q; want Version:<version>", file, line)
	}
	return version, nil
}
