// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/metax-ctk/container-toolkit/k8s/internal/archive"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestArchives makes the archives of a source tree with two charts, twice.
func TestArchives(t *testing.T) {
	b := standIn(t)
	write(t, filepath.Join(b.repo, "k8s/cmd/metax-k8s-images/main.go"), sources["k8s/cmd/dp/main.go"])
	for _, name := range charts {
		dir := filepath.Join(b.repo, "k8s/charts", name)
		write(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: "+name+"\nversion: 0.1.0\nappVersion: 0.1.0\n")
		write(t, filepath.Join(dir, "values.yaml"), "a: 1\n")
		write(t, filepath.Join(dir, "templates/a.yaml"), "kind: A\n")
	}
	dir := t.TempDir()
	for _, again := range []string{"first", "again"} {
		out := filepath.Join(dir, again)
		if err := b.writeImage(out, plain); err != nil {
			t.Fatal(err)
		}
		if err := b.writeArchives(filepath.Join(out, "archives"), out, []image{plain}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(sumOf(t, filepath.Join(dir, "first")), sumOf(t, filepath.Join(dir, "again"))); d != "" {
		t.Errorf("the second time it has other bytes: %s", d)
	}

	text := testfile.Read(t, filepath.Join(dir, "first", "archives", "metax-k8s-images.1.2.3.arm64.run"))
	parts, _, err := archive.Open(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range parts {
		names = append(names, p.String())
	}
	if d := cmp.Diff([]string{"plain:1.2.3", "metax-gpu-extensions:1.2.3", "metax-operator:1.2.3"}, names); d != "" {
		t.Error(d)
	}
	files, err := archive.Charts(parts, dir)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	chart, err := loader.Load(files[1])
	if err != nil {
		t.Fatal(err)
	}
	if m := chart.Metadata; m.Name != "metax-operator" || m.Version != "1.2.3" || m.AppVersion != "1.2.3" || len(chart.Templates) != 1 || chart.Values["a"] != 1.0 {
		t.Errorf("%+v %v", m, chart.Values)
	}

	b.version = "3c28551"
	if err := b.writeArchives(dir, filepath.Join(dir, "first"), []image{plain}); err == nil {
		t.Error("a version that no chart can have is taken")
	}
}
