// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// place is where something is named that has to be the same everywhere.
type place struct {
	glob    string
	pattern string // its group is what is named
	least   int    // how often it is found
}

// TestVersions demands that the charts, what a cluster is cleaned up with, the list of changes
// and the pages name one version: a reader types what stands there. A release has that version
// (TestReleaseVersion).
func TestVersions(t *testing.T) {
	agree(t, []place{
		{"../k8s/charts/*/Chart.yaml", `(?m)^(?:version|appVersion): "?([^"\n]+)`, 4},
		{"../k8s/charts/*.yaml", `(?:app.kubernetes.io/version: "|ghcr.io/metax-ctk/[a-z-]+:)([^"\s]+)`, 8},
		{"../CHANGELOG.md", `(?s)\A.*?(?:new in |\n## \[)(\d+\.\d+\.\d+)`, 1},
		{"../*.md", typed, 4},
		{"*.md", typed, 5},
		{"zh/*.md", typed, 5},
	})
}

// typed is how commands in pages name the version.
const typed = `(?:VERSION=v?|metax-k8s-images\.|metax-container-toolkit-)(\d+\.\d+\.\d+)`

// TestReleaseVersion demands that a release of another version than the charts' is refused
// before anything is built.
func TestReleaseVersion(t *testing.T) {
	cmd := exec.Command("../packaging/release", t.TempDir())
	cmd.Env = append(os.Environ(), "VERSION=v99.0.0", "SOURCE_DATE_EPOCH=0", "GO=false")
	const want = "release: the version is 99.0.0, but k8s/charts/metax-gpu-extensions/Chart.yaml has "
	if out, err := cmd.CombinedOutput(); err == nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v: %s; want %q", err, out, want)
	}
}

// TestAddress demands that charts, manifests, the program that pushes images, and the pages name
// one address, from which a cluster gets images and charts where no registry is named.
func TestAddress(t *testing.T) {
	agree(t, []place{
		{"../k8s/charts/*/values.yaml", `(?m)^registry: (\S+)$`, 2},
		{"../k8s/charts/*.yaml", `image: "([^"]+)/[^/"]+"`, 7},
		{"../k8s/cmd/metax-k8s-images/main.go", `Name: "project", Value: "([^"]+)"`, 1},
		{"../README*.md", "`(ghcr[.]io/[^`]*)`", 2},
		{"kubernetes.md", "`(ghcr[.]io/[^`]*)`", 1},
		{"zh/kubernetes.md", "`(ghcr[.]io/[^`]*)`", 1},
	})
}

// TestClusterSteps demands at most four steps from a clone to a pod with a GPU, each with a name.
func TestClusterSteps(t *testing.T) {
	for _, page := range []string{"../README.md", "../README.zh-CN.md"} {
		block := regexp.MustCompile("(?s)```sh\n([^`]*helm install[^`]*)```").FindStringSubmatch(readFile(t, page))
		if block == nil {
			t.Errorf("%s: no commands install the chart", page)
			continue
		}
		lines := strings.Split(strings.TrimSpace(block[1]), "\n")
		if len(lines) > 4 {
			t.Errorf("%s: %d steps, want at most 4", page, len(lines))
		}
		for i, line := range lines {
			if _, name, _ := strings.Cut(line, fmt.Sprintf(" # %d. ", i+1)); name == "" {
				t.Errorf("%s: step %d has no name: %s", page, i+1, line)
			}
		}
	}
}

// agree demands that all places name the same.
func agree(t *testing.T, places []place) {
	t.Helper()
	want := ""
	for _, place := range places {
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
					t.Errorf("%s: %q names %s, the charts %s", file, found[0], found[1], want)
				}
			}
		}
		if n < place.least {
			t.Errorf("%s: %d were found, at least %d expected", place.glob, n, place.least)
		}
	}
}
