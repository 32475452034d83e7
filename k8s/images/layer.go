// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// file is a file, directory or link in a layer. Name has no leading slash.
type file struct {
	name string
	mode int64
	kind byte // of package tar; 0 is a regular file
	link string
	body []byte
}

// compression is the level of gzip that layers have.
var compression = gzip.BestCompression

// layerOf is a layer with these files in this order.
func layerOf(files []file) (v1.Layer, error) {
	text, err := tarOf(files)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(compression), tarball.WithCompressedCaching)
}

// tarOf is a tar archive with these files in this order. All belong to root and have no time
// of their own.
func tarOf(files []file) ([]byte, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: f.kind, Name: f.name, Linkname: f.link, Mode: f.mode, Size: int64(len(f.body)),
			ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
		}
		if header.Typeflag == 0 {
			header.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil { // writes the end
		return nil, err
	}
	return buffer.Bytes(), nil
}
