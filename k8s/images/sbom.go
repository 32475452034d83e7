// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// component is a part of an image: a package of Debian or a Go module.
type component struct{ kind, name, version, purl string }

func debianComponent(p pkg) component {
	return component{
		kind: "library", name: p.name, version: p.version,
		purl: fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s&distro=debian-12",
			url.PathEscape(p.name), url.PathEscape(p.version), p.arch),
	}
}

// goComponents are a program's modules, as the linker wrote them into it: itself, the standard
// library, and every other module with its version.
func goComponents(program, version string) ([]component, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	golang := func(kind, name, version string) component {
		return component{kind: kind, name: name, version: version, purl: "pkg:golang/" + name + "@" + url.PathEscape(version)}
	}
	found := []component{
		golang("application", info.Path, version),
		golang("library", "stdlib", strings.TrimPrefix(info.GoVersion, "go")),
	}
	for _, dep := range info.Deps {
		v := dep.Version
		if dep.Replace != nil { // the toolkit's own module
			v = version
		}
		found = append(found, golang("library", dep.Path, v))
	}
	return found, nil
}

// writeSBOM writes the list of the components of something as CycloneDX JSON.
func writeSBOM(path string, of cdx.Component, created time.Time, found []component) error {
	slices.SortFunc(found, func(a, b component) int { return cmp.Compare(a.purl, b.purl) })
	found = slices.Compact(found)
	components := make([]cdx.Component, 0, len(found))
	for _, c := range found {
		components = append(components, cdx.Component{
			BOMRef: c.purl, Type: cdx.ComponentType(c.kind), Name: c.name, Version: c.version, PackageURL: c.purl,
		})
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: created.Format(time.RFC3339),
		Component: &of,
	}
	bom.Components = &components
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // G301: a directory to publish
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644) //nolint:gosec // G306: a list to publish
}

// writeProgramsSBOM writes the list of the components of the Go programs in a directory.
func writeProgramsSBOM(path, dir, version string, created time.Time) error {
	programs, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var found []component
	for _, p := range programs {
		parts, err := goComponents(filepath.Join(dir, p.Name()), version)
		if err != nil {
			return err
		}
		found = append(found, parts...)
	}
	return writeSBOM(path,
		cdx.Component{Type: cdx.ComponentTypeApplication, Name: "metax-container-toolkit", Version: version}, created, found)
}
