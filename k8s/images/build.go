// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/metax-ctk/container-toolkit/packaging/licences"
)

const source = "https://github.com/metax-ctk/container-toolkit"

// builder has what all images share.
type builder struct {
	repo, debs string
	locked     []pkg
	version    string
	created    time.Time
	arches     []string
}

// writeImage makes OUT/NAME, an OCI layout with an index of all architectures, and
// OUT/NAME-ARCH.cdx.json beside it.
func (b builder) writeImage(out string, i image) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range b.arches {
		built, components, err := b.image(i, arch)
		if err != nil {
			return fmt.Errorf("for %s: %w", arch, err)
		}
		platform := &v1.Platform{OS: "linux", Architecture: arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: built, Descriptor: v1.Descriptor{Platform: platform}})
		if err := writeSBOM(filepath.Join(out, i.name+"-"+arch+".cdx.json"), cdx.Component{
			Type: cdx.ComponentTypeContainer,
			Name: i.name, Version: b.version,
		}, b.created, components); err != nil {
			return err
		}
	}
	dir := filepath.Join(out, i.name)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return l.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": b.version}))
}

// image is one architecture of an image, and what it consists of.
func (b builder) image(i image, arch string) (v1.Image, []component, error) {
	var layers []v1.Layer
	var components []component
	if len(i.packages) != 0 {
		base, found, err := debianLayer(b.debs, b.locked, i.packages, arch)
		if err != nil {
			return nil, nil, err
		}
		layers, components = append(layers, base), append(components, found...)
	}
	programs, found, err := b.programs(i, arch)
	if err != nil {
		return nil, nil, err
	}
	layers, components = append(layers, programs), append(components, found...)

	made := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if made, err = mutate.AppendLayers(made, layers...); err != nil {
		return nil, nil, err
	}
	config, err := made.ConfigFile()
	if err != nil {
		return nil, nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: b.created}
	config.Config = v1.Config{Entrypoint: []string{i.entrypoint}, User: "0:0", Labels: map[string]string{
		"org.opencontainers.image.title":       i.name,
		"org.opencontainers.image.description": i.description,
		"org.opencontainers.image.source":      source,
		"org.opencontainers.image.version":     b.version,
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}}
	made, err = mutate.ConfigFile(made, config)
	return made, components, err
}

// programs builds the programs of an image into a layer, with the licences of what they link.
func (b builder) programs(i image, arch string) (v1.Layer, []component, error) {
	dir, err := os.MkdirTemp("", "metax-images-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	var files []file
	var components []component
	var paths []string
	for _, program := range i.programs {
		built := filepath.Join(dir, path.Base(program))
		if err := b.compileProgram(program, arch, built); err != nil {
			return nil, nil, err
		}
		paths = append(paths, built)
		body, err := os.ReadFile(built) //nolint:gosec // G304: what was just built, in a new directory
		if err != nil {
			return nil, nil, err
		}
		files = append(files, file{name: path.Base(program), mode: 0o755, body: body})
		found, err := goComponents(built, b.version)
		if err != nil {
			return nil, nil, err
		}
		components = append(components, found...)
	}
	text, err := licences.Text(paths...)
	if err != nil {
		return nil, nil, err
	}
	files = append(files,
		file{name: "usr/share/doc/metax-container-toolkit/third-party-licenses", mode: 0o644, body: text})
	layer, err := layerOf(files)
	return layer, components, err
}

// compileProgram builds a program of the sources, in the module that it belongs to.
func (b builder) compileProgram(program, arch, out string) error {
	module, pkg := b.repo, program
	if inside, ok := strings.CutPrefix(program, "k8s/"); ok {
		module, pkg = filepath.Join(b.repo, "k8s"), inside
	}
	tags, err := os.ReadFile(filepath.Join(b.repo, "packaging", "tags"))
	if err != nil {
		return err
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", strings.TrimSpace(string(tags)),
		"-ldflags", "-s -w -buildid= -X main.buildVersion="+b.version, "-o", out, "./"+pkg)
	build.Dir = module
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./%s: %w\n%s", pkg, err, text)
	}
	return nil
}
