// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// sources are two modules as in this repository, with a program each.
var sources = map[string]string{
	"packaging/tags":     "a_tag\n",
	"go.mod":             "module example.com/toolkit\n\ngo 1.26.0\n",
	"cmd/hook/main.go":   "package main\n\nimport \"fmt\"\n\nvar buildVersion string\n\nfunc main() { fmt.Println(buildVersion) }\n",
	"k8s/go.mod":         "module example.com/toolkit/k8s\n\ngo 1.26.0\n",
	"k8s/cmd/dp/main.go": "package main\n\nimport \"fmt\"\n\nvar buildVersion string\n\nfunc main() { fmt.Println(buildVersion) }\n",
}

func standIn(t *testing.T) builder {
	t.Helper()
	repo := t.TempDir()
	for name, text := range sources {
		write(t, filepath.Join(repo, name), text)
	}
	return builder{repo: repo, version: "1.2.3", created: time.Unix(1700000000, 0).UTC(), arches: []string{"amd64", "arm64"}}
}

var plain = image{name: "plain", description: "A stand-in", programs: []string{"k8s/cmd/dp", "cmd/hook"}, entrypoint: "/dp"}

// TestTarOf: an archive is whole blocks and ends in two empty ones; without them GNU tar
// refuses it.
func TestTarOf(t *testing.T) {
	text, err := tarOf([]file{{name: "a", body: []byte("one byte too many for a block, or too few")}})
	if err != nil || len(text)%512 != 0 || !bytes.HasSuffix(text, make([]byte, 1024)) {
		t.Errorf("%v, %d bytes that end in %q", err, len(text), text[max(0, len(text)-20):])
	}
}

func TestLayout(t *testing.T) {
	out := t.TempDir()
	if err := standIn(t).writeImage(out, plain); err != nil {
		t.Fatal(err)
	}
	index := readIndex(t, filepath.Join(out, "plain"))
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	var platforms []string
	for arch, i := range imagesOf(t, index) {
		platforms = append(platforms, arch)
		config, err := i.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(config.OS, config.Architecture, config.Created.Unix(), config.Config.Entrypoint, config.Config.Labels["org.opencontainers.image.version"])
		if want := fmt.Sprint("linux", arch, 1700000000, []string{"/dp"}, "1.2.3"); got != want {
			t.Errorf("configuration %s, want %s", got, want)
		}
		media, err := i.MediaType()
		if err != nil || media != types.OCIManifestSchema1 {
			t.Error(media, err)
		}
		want := []string{"dp -rwxr-xr-x 0:0", "hook -rwxr-xr-x 0:0", "usr/share/doc/metax-container-toolkit/third-party-licenses -rw-r--r-- 0:0"}
		if d := cmp.Diff(want, contents(t, i)); d != "" {
			t.Errorf("%s: files:\n%s", arch, d)
		}
	}
	slices.Sort(platforms)
	if d := cmp.Diff([]string{"amd64", "arm64"}, platforms); d != "" {
		t.Error(d)
	}
	if tag := tagOf(t, filepath.Join(out, "plain")); tag != "1.2.3" {
		t.Errorf("tag %q", tag)
	}
}

func TestSBOM(t *testing.T) {
	out := t.TempDir()
	if err := standIn(t).writeImage(out, plain); err != nil {
		t.Fatal(err)
	}
	text := testfile.Read(t, filepath.Join(out, "plain-arm64.cdx.json"))
	var bom cdx.BOM
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range *bom.Components {
		if c.Name != "stdlib" { // whose version is the compiler's
			got = append(got, string(c.Type)+" "+c.PackageURL)
		}
	}
	want := []string{
		"application pkg:golang/example.com/toolkit/cmd/hook@1.2.3",
		"application pkg:golang/example.com/toolkit/k8s/cmd/dp@1.2.3",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if bom.Metadata.Timestamp != "2023-11-14T22:13:20Z" {
		t.Error(bom.Metadata.Timestamp)
	}
}

// TestReproducible builds the same sources in two places.
func TestReproducible(t *testing.T) {
	var sums []string
	for range 2 {
		out := t.TempDir()
		if err := standIn(t).writeImage(out, plain); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sumOf(t, out))
	}
	if d := cmp.Diff(sums[0], sums[1]); d != "" {
		t.Error(d)
	}
}

func TestDebian(t *testing.T) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	write(t, filepath.Join(tree, "DEBIAN", "control"), "Package: libx\nVersion: 1:2-3\nArchitecture: arm64\nMaintainer: x <x@example.com>\nDescription: x\n")
	write(t, filepath.Join(tree, "lib", "libx.so.1.0"), "library")
	write(t, filepath.Join(tree, "usr", "share", "doc", "libx", "copyright"), "licence")
	write(t, filepath.Join(tree, "usr", "share", "doc", "libx", "changelog.gz"), "changes")
	write(t, filepath.Join(tree, "usr", "share", "lintian", "overrides", "libx"), "none")
	testfile.Symlink(t, "libx.so.1.0", filepath.Join(tree, "lib", "libx.so.1"))
	deb := filepath.Join(dir, "x.deb")
	if text, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", tree, deb).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	body := testfile.Read(t, deb)
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	if err := os.Rename(deb, filepath.Join(dir, sum+".deb")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "lock"), "# a comment\n\nlibx 1:2-3 arm64 "+sum+"\n")
	locked, err := readLock(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}

	layer, components, err := debianLayer(dir, locked, []string{"libx"}, "arm64")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"etc/os-release -rw-r--r-- 0:0",
		"lib drwxr-xr-x 0:0",
		"lib/libx.so.1 Lrwxrwxrwx 0:0 -> libx.so.1.0",
		"lib/libx.so.1.0 -rw-r--r-- 0:0",
		"usr drwxr-xr-x 0:0",
		"usr/share drwxr-xr-x 0:0",
		"usr/share/doc drwxr-xr-x 0:0",
		"usr/share/doc/libx drwxr-xr-x 0:0",
		"usr/share/doc/libx/copyright -rw-r--r-- 0:0",
		"var/lib/dpkg/status.d/libx -rw-r--r-- 0:0",
	}
	if d := cmp.Diff(want, filesOf(t, layer)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff("pkg:deb/debian/libx@1:2-3?arch=arm64&distro=debian-12", components[0].purl); d != "" {
		t.Error(d)
	}

	if _, _, err := debianLayer(dir, locked, []string{"libx"}, "amd64"); err == nil || !strings.Contains(err.Error(), "debian.lock has no libx for amd64") {
		t.Error(err)
	}
	write(t, filepath.Join(dir, sum+".deb"), "another package")
	if _, _, err := debianLayer(dir, locked, []string{"libx"}, "arm64"); err == nil || !strings.Contains(err.Error(), "is not what debian.lock says") {
		t.Error(err)
	}
}

// TestLock demands that the packages of every image are pinned for both architectures.
func TestLock(t *testing.T) {
	locked, err := readLock("debian.lock")
	if err != nil {
		t.Fatal(err)
	}
	pinned := map[string]bool{}
	for _, p := range locked {
		pinned[p.name+"/"+p.arch] = true
	}
	for _, i := range images {
		for _, name := range i.packages {
			for _, arch := range []string{"amd64", "arm64"} {
				if !pinned[name+"/"+arch] {
					t.Errorf("%s: no %s for %s", i.name, name, arch)
				}
			}
		}
	}
}

func TestChoose(t *testing.T) {
	if _, err := selectImages(images, "gpu-device,gpu-devise"); err == nil || err.Error() != `"gpu-devise" is not an image` {
		t.Error(err)
	}
	chosen, err := selectImages(images, "exporter")
	if err != nil || len(chosen) != 1 || chosen[0].name != "exporter" {
		t.Error(chosen, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testfile.Write(t, path, text, 0o644)
}

// readIndex is the index of an image, which the layout's own index names.
func readIndex(t *testing.T, dir string) v1.ImageIndex {
	t.Helper()
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatal(manifest, err)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func tagOf(t *testing.T, dir string) string {
	t.Helper()
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"]
}

// imagesOf are the images of an index by architecture.
func imagesOf(t *testing.T, index v1.ImageIndex) map[string]v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]v1.Image{}
	for _, d := range manifest.Manifests {
		if found[d.Platform.Architecture], err = index.Image(d.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func contents(t *testing.T, i v1.Image) []string {
	t.Helper()
	layers, err := i.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, l := range layers {
		files = append(files, filesOf(t, l)...)
	}
	return files
}

func filesOf(t *testing.T, layer v1.Layer) []string {
	t.Helper()
	r, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var files []string
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s %d:%d", strings.TrimSuffix(h.Name, "/"), h.FileInfo().Mode(), h.Uid, h.Gid)
		if h.Linkname != "" {
			line += " -> " + h.Linkname
		}
		files = append(files, line)
	}
}

// sumOf is one line per file of a directory, with its checksum.
func sumOf(t *testing.T, dir string) string {
	t.Helper()
	var lines strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&lines, "%x %s\n", sha256.Sum256(body), rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines.String()
}
