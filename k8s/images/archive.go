// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/internal/archive"
)

// charts are those in the archive.
var charts = []string{"metax-gpu-extensions", "metax-operator"}

// writeArchives makes the charts, DIR/CHART-VERSION.tgz, and
// DIR/metax-k8s-images.VERSION.ARCH.run for each architecture that it can be run on: the
// images of all architectures, whose layouts are in out, and the charts.
func (b builder) writeArchives(dir, out string, from []image) error {
	var parts []archive.Part
	for _, i := range from {
		outer, err := layout.ImageIndexFromPath(filepath.Join(out, i.name))
		if err != nil {
			return err
		}
		list, err := outer.IndexManifest()
		if err != nil {
			return err
		}
		p := archive.Part{Name: i.name, Tag: b.version}
		if p.Index, err = outer.ImageIndex(list.Manifests[0].Digest); err != nil {
			return err
		}
		parts = append(parts, p)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // G301: a directory to publish
		return err
	}
	for _, name := range charts {
		chart, packed, err := packChart(filepath.Join(b.repo, "k8s", "charts", name), b.version)
		if err == nil {
			file := filepath.Join(dir, fmt.Sprintf("%s-%s.tgz", name, b.version))
			err = os.WriteFile(file, packed, 0o644) //nolint:gosec // G306: a chart to publish
		}
		if err != nil {
			return fmt.Errorf("pack the chart %s: %w", name, err)
		}
		parts = append(parts, chart)
	}
	for _, arch := range b.arches {
		if err := b.writeArchive(filepath.Join(dir, fmt.Sprintf("metax-k8s-images.%s.%s.run", b.version, arch)), arch,
			parts); err != nil {
			return fmt.Errorf("write the archive for %s: %w", arch, err)
		}
	}
	return nil
}

func (b builder) writeArchive(file, arch string, parts []archive.Part) (err error) {
	built, err := os.MkdirTemp("", "metax-images-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	program := filepath.Join(built, "program")
	if err := b.compileProgram("k8s/cmd/metax-k8s-images", arch, program); err != nil {
		return err
	}
	text, err := os.ReadFile(program) //nolint:gosec // G304: what was just built, in a new directory
	if err != nil {
		return err
	}
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755) //nolint:gosec // G302: a program to publish
	if err != nil {
		return err
	}
	defer func() {
		if closed := to.Close(); err == nil {
			err = closed
		}
	}()
	return archive.Write(to, bytes.NewReader(text), int64(len(text)), parts)
}

// packChart packs the chart in a directory as helm does, with a version, and without the times
// of its files.
func packChart(dir, version string) (part archive.Part, text []byte, err error) {
	log.SetOutput(io.Discard) // helm notes each link in a chart
	chart, err := loader.LoadDir(dir)
	if err != nil {
		return part, nil, err
	}
	chart.Metadata.Version, chart.Metadata.AppVersion = version, version
	if err := chart.Validate(); err != nil {
		return part, nil, fmt.Errorf("%w (VERSION has to be one that charts can have, such as 1.2.3)", err)
	}
	var files []file
	for _, f := range chart.Raw {
		if f.Name == "Chart.yaml" {
			if f.Data, err = yaml.Marshal(chart.Metadata); err != nil {
				return part, nil, err
			}
		}
		files = append(files, file{name: chart.Name() + "/" + f.Name, mode: 0o644, body: f.Data})
	}
	plain, err := tarOf(files)
	if err != nil {
		return part, nil, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return part, nil, err
	}
	description, err := json.Marshal(chart.Metadata)
	if err != nil {
		return part, nil, err
	}
	part, err = archive.NewChart(chart.Name(), version, description, packed.Bytes())
	return part, packed.Bytes(), err
}
