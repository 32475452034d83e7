// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Write writes an archive: the program, of a size, and the parts behind it.
func Write(to io.Writer, program io.Reader, size int64, parts []Part) error {
	if _, err := io.CopyN(to, program, size); err != nil {
		return fmt.Errorf("write the program: %w", err)
	}
	w := &writer{zip: zip.NewWriter(to), has: map[v1.Hash]bool{}}
	w.zip.SetOffset(size)
	list := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	names := map[string]bool{}
	for _, p := range parts {
		if names[p.String()] {
			return fmt.Errorf("%s is there twice", p)
		}
		names[p.String()] = true
		d, err := w.part(p)
		if err != nil {
			return fmt.Errorf("write %s: %w", p, err)
		}
		d.Annotations = map[string]string{refName: p.String()}
		list.Manifests = append(list.Manifests, *d)
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		err = w.file(layoutFile, bytes.NewReader([]byte(`{"imageLayoutVersion": "1.0.0"}`+"\n")))
	}
	if err == nil {
		err = w.file(indexFile, bytes.NewReader(text))
	}
	if err == nil {
		err = w.zip.SetComment(strconv.FormatInt(size, 10))
	}
	if err != nil {
		return err
	}
	return w.zip.Close()
}

type writer struct {
	zip *zip.Writer
	has map[v1.Hash]bool
}

// file writes a file as it is: images are compressed already, and an uncompressed file can be
// read at any place.
func (w *writer) file(name string, from io.Reader) error {
	to, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err == nil {
		_, err = io.Copy(to, from)
	}
	return err
}

// blob writes a blob once.
func (w *writer) blob(h v1.Hash, open func() (io.ReadCloser, error)) error {
	if w.has[h] {
		return nil
	}
	w.has[h] = true
	from, err := open()
	if err != nil {
		return err
	}
	defer from.Close()
	return w.file(path.Join("blobs", h.Algorithm, h.Hex), from)
}

func (w *writer) text(text []byte) error {
	h, _, err := v1.SHA256(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return w.blob(h, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
}

func (w *writer) part(p Part) (*v1.Descriptor, error) {
	if p.Index != nil {
		if err := w.index(p.Index); err != nil {
			return nil, err
		}
		return partial.Descriptor(p.Index)
	}
	if err := w.image(p.Image); err != nil {
		return nil, err
	}
	return partial.Descriptor(p.Image)
}

func (w *writer) index(i v1.ImageIndex) error {
	manifest, err := i.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range manifest.Manifests {
		one, err := i.Image(d.Digest)
		if err == nil {
			err = w.image(one)
		}
		if err != nil {
			return err
		}
	}
	raw, err := i.RawManifest()
	if err != nil {
		return err
	}
	return w.text(raw)
}

func (w *writer) image(i v1.Image) error {
	layers, err := i.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		h, err := layer.Digest()
		if err == nil {
			err = w.blob(h, layer.Compressed)
		}
		if err != nil {
			return err
		}
	}
	for _, read := range []func() ([]byte, error){i.RawConfigFile, i.RawManifest} {
		text, err := read()
		if err == nil {
			err = w.text(text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
