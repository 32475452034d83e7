// Package maca reads what stands below /opt of a host: the driver's user-space
// part and the MXMACA software. It looks at paths and versions only; what of it
// goes into a container is the business of cdi.
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
	// VersionFile says "Version:3.3.0.15" in its first line.
	VersionFile = "/opt/maca/Version.txt"
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
	var r Report
	if names, err := host.ReadDir(DriverPath); err == nil && len(names) > 0 {
		r.Driver = DriverPath
	}
	if !host.Exists(Path) {
		if names, _ := host.ReadDir(path.Dir(Path)); slices.Contains(names, path.Base(Path)) {
			r.Warnings = append(r.Warnings, Path+" is a link that leads nowhere")
		}
		return r
	}
	r.MACA = &gpu.MACA{Path: Path}
	text, err := host.ReadFile(VersionFile)
	if err == nil {
		r.MACA.Version, err = parseVersion(string(text))
	}
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("MXMACA version is not known: %v", err))
	}
	return r
}

// parseVersion returns the text behind the last colon of the first line:
// "Version:3.8.0.3-c600u" is "3.8.0.3-c600u".
func parseVersion(text string) (string, error) {
	line, _, _ := strings.Cut(text, "\n")
	version := strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:])
	if version == "" || len(version) > 64 || strings.ContainsFunc(version, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s begins with the line %.80q; want Version:<version>", VersionFile, line)
	}
	return version, nil
}
