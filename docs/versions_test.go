// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"regexp"
	"testing"
)

// TestVersions demands that the charts, what a cluster is cleaned up with, and the pages name
// one version: a reader types what stands there.
func TestVersions(t *testing.T) {
	want := ""
	for _, place := range []struct {
		glob    string
		pattern string // its group is the version
		least   int
	}{
		{"../k8s/charts/*/Chart.yaml", `(?m)^(?:version|appVersion): "?([^"\n]+)`, 4},
		{"../k8s/charts/*.yaml", `(?:app.kubernetes.io/version: "|ghcr.io/metax-ctk/[a-z-]+:)([^"\s]+)`, 8},
		{"../*.md", `(?:VERSION=|metax-k8s-images\.)(\d+\.\d+\.\d+)`, 4},
		{"*.md", `(?:VERSION=|metax-k8s-images\.)(\d+\.\d+\.\d+)`, 3},
		{"zh/*.md", `(?:VERSION=|metax-k8s-images\.)(\d+\.\d+\.\d+)`, 3},
	} {
		files, err := filepath.Glob(place.glob)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, file := range files {
			for _, found := range regexp.MustCompile(place.pattern).FindAllStringSubmatch(readFile(t, file), -1) {
				n++
				if want == "" {
					want = found[1]
				}
				if found[1] != want {
					t.Errorf("%s: %q is of version %s, the charts are %s", file, found[0], found[1], want)
				}
			}
		}
		if n < place.least {
			t.Errorf("%s: %d versions were found, at least %d expected", place.glob, n, place.least)
		}
	}
}
