// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const program = "\x7fELF and the rest of a program"

func randomImage(t *testing.T) v1.Image {
	t.Helper()
	one, err := random.Image(1000, 2)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// samples are an image of two architectures, one of one, and a chart.
func samples(t *testing.T) []Part {
	t.Helper()
	both := v1.ImageIndex(empty.Index)
	for _, arch := range []string{"amd64", "arm64"} {
		one := randomImage(t)
		config, err := one.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		config = config.DeepCopy()
		config.OS, config.Architecture = "linux", arch
		if one, err = mutate.ConfigFile(one, config); err != nil {
			t.Fatal(err)
		}
		both = mutate.AppendManifests(both, mutate.IndexAddendum{
			Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	chart, err := NewChart("metax-operator", "1.2.3", []byte(`{"name":"metax-operator","version":"1.2.3"}`), []byte("a packed chart"))
	if err != nil {
		t.Fatal(err)
	}
	return []Part{{Name: "gpu-device", Tag: "1.2.3", Index: both}, {Name: "driver-image", Tag: "3.7.0", Image: randomImage(t)}, chart}
}

func written(t *testing.T, parts []Part) []byte {
	t.Helper()
	var to bytes.Buffer
	if err := Write(&to, strings.NewReader(program), int64(len(program)), parts); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}

// digests are those of parts, by name.
func digests(t *testing.T, parts []Part) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, p := range parts {
		if p.Index != nil {
			if err := validate.Index(p.Index); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
		h, err := p.digest()
		if err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("%s chart=%t", p, p.IsChart())] = h.String()
	}
	return all
}

// TestArchive writes an archive, reads it, writes what was read again, and pushes it.
func TestArchive(t *testing.T) {
	parts := samples(t)
	text := written(t, parts)
	if !bytes.HasPrefix(text, []byte(program)) {
		t.Error("it does not begin with the program")
	}
	read, size, err := Open(bytes.NewReader(text), int64(len(text)))
	if err != nil || size != int64(len(program)) {
		t.Fatal(size, err)
	}
	if d := cmp.Diff(digests(t, parts), digests(t, read)); d != "" {
		t.Error(d)
	}
	if !bytes.Equal(text, written(t, read)) {
		t.Error("written again it has other bytes")
	}
	file := filepath.Join(t.TempDir(), "archive.run")
	testfile.Write(t, file, text, 0o644)

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	project := strings.TrimPrefix(server.URL, "http://") + "/cloud/metax"
	var said []string
	if err := Push(t.Context(), read, project, false, func(reference string) {
		reference, _, _ = strings.Cut(reference, "@sha256:")
		said = append(said, reference)
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{project + "/gpu-device:1.2.3", project + "/driver-image:3.7.0", project + "/metax-operator:1.2.3"}; !slices.Equal(want, said) {
		t.Errorf("it pushed %q, want %q", said, want)
	}
	for p, want := range digests(t, parts) {
		p, _, _ = strings.Cut(p, " ")
		reference, err := name.NewTag(project + "/" + p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := remote.Head(reference)
		if err != nil || got.Digest.String() != want {
			t.Errorf("%s: %v %v", p, got, err)
		}
	}

	files, err := Charts(read, filepath.Dir(file))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "metax-operator-1.2.3.tgz" {
		t.Fatal(files, err)
	}
	if chart, err := os.ReadFile(files[0]); err != nil || string(chart) != "a packed chart" {
		t.Errorf("%q %v", chart, err)
	}
	if one, err := read[0].forArch("arm64"); err != nil {
		t.Error(one, err)
	}
	if _, err := read[0].forArch("s390x"); err == nil || !strings.Contains(err.Error(), "it is not for s390x, but for amd64, arm64") {
		t.Error(err)
	}
}

// TestDamaged changes each byte: a part is what was written, or is not read.
func TestDamaged(t *testing.T) {
	text := written(t, samples(t)[2:])
	list, _, err := Open(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	whole := digests(t, list)
	for at := len(program); at < len(text); at++ {
		bad := slices.Clone(text)
		bad[at] ^= 0x20
		parts, _, err := Open(bytes.NewReader(bad), int64(len(bad)))
		if err != nil {
			continue
		}
		if d := cmp.Diff(whole, digests(t, parts)); d != "" {
			t.Errorf("byte %d: %s", at, d)
		}
	}
	for what, test := range map[string]struct{ text, want string }{
		"a program without an archive": {program, "there are no images behind this program"},
		"half of it":                   {string(text[:len(text)/2]), "there are no images behind this program"},
	} {
		if _, _, err := Open(strings.NewReader(test.text), int64(len(test.text))); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSaved reads what an engine saved, as it is, with gzip and with xz.
func TestSaved(t *testing.T) {
	dir := t.TempDir()
	one := randomImage(t)
	tag, err := name.NewTag("cr.example.com/library/maca-c500:2.18.0.3-ubuntu18.04-amd64")
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "maca.tar")
	if err := tarball.WriteToFile(plain, tag, one); err != nil {
		t.Fatal(err)
	}
	text := testfile.Read(t, plain)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, filepath.Join(dir, "maca.tar.gz"), packed.Bytes(), 0o644)
	if out, err := exec.Command("xz", "--keep", plain).CombinedOutput(); err != nil {
		t.Fatalf("xz: %v: %s", err, out)
	}
	for _, file := range []string{"maca.tar", "maca.tar.gz", "maca.tar.xz"} {
		parts, err := Saved(t.Context(), filepath.Join(dir, file), dir)
		if err != nil || len(parts) != 1 || parts[0].String() != "maca-c500:2.18.0.3-ubuntu18.04-amd64" {
			t.Fatalf("%s: %v %v", file, parts, err)
		}
		archive := written(t, parts)
		read, _, err := Open(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(read[0].Image); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	testfile.Write(t, filepath.Join(dir, "text"), "no image at all", 0o644)
	if _, err := Saved(t.Context(), filepath.Join(dir, "text"), dir); err == nil || !strings.Contains(err.Error(), "read the images of ") {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	parts := samples(t)
	if err := Write(io.Discard, strings.NewReader(program), int64(len(program)), append(parts, parts[1])); err == nil || !strings.Contains(err.Error(), "driver-image:3.7.0 is there twice") {
		t.Error(err)
	}
	for _, to := range []string{"hub.example.com", "hub example/x", "", "hub.example.com/UPPER"} {
		if err := Push(t.Context(), nil, to, false, nil); err == nil || !strings.Contains(err.Error(), "want DOMAIN/PROJECT") {
			t.Errorf("push to %q: %v", to, err)
		}
	}
	if err := Load(t.Context(), parts, "rkt", "hub.example.com/x", "amd64", nil); err == nil || !strings.Contains(err.Error(), `"rkt" is not an engine: want one of containerd, docker, k3s, podman`) {
		t.Error(err)
	}
	for _, text := range []string{"", "a", "a:", ":b", "../a:1", "a/b:1", "a:b c", "a@sha256:00"} {
		if p, err := named(text); err == nil {
			t.Errorf("%q is %s", text, p)
		}
	}
}
