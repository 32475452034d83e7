// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteTo follows the archive as an engine does: manifest, configuration, layer.
func TestWriteTo(t *testing.T) {
	image := Image{
		Ref:   "localhost/probe:1",
		Files: map[string][]byte{"/b": []byte("B"), "/a": []byte("A")},
		Dirs:  []string{"/tmp", "/dev"},
		Cmd:   []string{"/a"},
	}
	var first, second bytes.Buffer
	for _, w := range []io.Writer{&first, &second} {
		if _, err := image.WriteTo(w); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same image gives different bytes")
	}

	files := unpack(t, first.Bytes())
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || len(manifest[0].Layers) != 1 {
		t.Fatalf("want one image of one layer: %+v", manifest)
	}
	if diff := cmp.Diff([]string{image.Ref}, manifest[0].RepoTags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	layer := files[manifest[0].Layers[0]]
	var config struct {
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if err := json.Unmarshal(files[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sha256:" + digest(layer)}, config.RootFS.DiffIDs); diff != "" {
		t.Errorf("layer digests (-want +got):\n%s", diff)
	}
	want := map[string][]byte{"a": []byte("A"), "b": []byte("B"), "dev/": {}, "tmp/": {}}
	if diff := cmp.Diff(want, unpack(t, layer)); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
}

func unpack(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
