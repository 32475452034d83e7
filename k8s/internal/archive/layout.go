// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// maxManifest bounds what is read into memory: indexes, manifests and configurations of
// images.
const maxManifest = 8 << 20

// blobs are those of an OCI layout.
type blobs struct{ files fs.FS }

func (b blobs) open(h v1.Hash) (io.ReadCloser, error) {
	return b.files.Open(path.Join("blobs", h.Algorithm, h.Hex))
}

// read returns a small blob, which has to be what its digest says.
func (b blobs) read(h v1.Hash) ([]byte, error) {
	file, err := b.open(h)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
	if err == nil && len(text) > maxManifest {
		err = fmt.Errorf("%s has more than %d MiB", h, maxManifest>>20)
	}
	if err != nil {
		return nil, err
	}
	if is, _, err := v1.SHA256(bytes.NewReader(text)); err != nil || is != h {
		return nil, fmt.Errorf("%s is damaged: its content is %s", h, is)
	}
	return text, nil
}

// image is an image, or a chart, of a layout.
type image struct {
	blobs
	media    types.MediaType
	raw      []byte
	manifest *v1.Manifest
}

func (b blobs) readImage(d v1.Descriptor) (v1.Image, error) {
	raw, err := b.read(d.Digest)
	if err != nil {
		return nil, err
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(image{blobs: b, media: d.MediaType, raw: raw, manifest: manifest})
}

func (i image) MediaType() (types.MediaType, error) { return i.media, nil }
func (i image) RawManifest() ([]byte, error)        { return i.raw, nil }
func (i image) RawConfigFile() ([]byte, error)      { return i.read(i.manifest.Config.Digest) }

func (i image) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	for _, d := range append(i.manifest.Layers, i.manifest.Config) {
		if d.Digest == h {
			return blob{i.blobs, d}, nil
		}
	}
	return nil, fmt.Errorf("the image has no layer %s", h)
}

// blob is a layer, as it is in the layout.
type blob struct {
	blobs
	v1.Descriptor
}

func (b blob) Digest() (v1.Hash, error)            { return b.Descriptor.Digest, nil }
func (b blob) Size() (int64, error)                { return b.Descriptor.Size, nil }
func (b blob) MediaType() (types.MediaType, error) { return b.Descriptor.MediaType, nil }
func (b blob) Compressed() (io.ReadCloser, error)  { return b.open(b.Descriptor.Digest) }

// index is an image of several architectures.
type index struct {
	blobs
	media types.MediaType
	raw   []byte
}

func (b blobs) readIndex(d v1.Descriptor) (v1.ImageIndex, error) {
	raw, err := b.read(d.Digest)
	return index{b, d.MediaType, raw}, err
}

func (i index) MediaType() (types.MediaType, error) { return i.media, nil }
func (i index) RawManifest() ([]byte, error)        { return i.raw, nil }
func (i index) Digest() (v1.Hash, error)            { return partial.Digest(i) }
func (i index) Size() (int64, error)                { return partial.Size(i) }

func (i index) IndexManifest() (*v1.IndexManifest, error) {
	return v1.ParseIndexManifest(bytes.NewReader(i.raw))
}

func (i index) Image(h v1.Hash) (v1.Image, error) {
	d, err := i.find(h)
	if err != nil {
		return nil, err
	}
	return i.readImage(d)
}

func (i index) ImageIndex(h v1.Hash) (v1.ImageIndex, error) {
	d, err := i.find(h)
	if err != nil {
		return nil, err
	}
	return i.blobs.readIndex(d)
}

func (i index) find(h v1.Hash) (v1.Descriptor, error) {
	manifest, err := i.IndexManifest()
	if err != nil {
		return v1.Descriptor{}, err
	}
	for _, d := range manifest.Manifests {
		if d.Digest == h {
			return d, nil
		}
	}
	return v1.Descriptor{}, fmt.Errorf("the index has no %s", h)
}
