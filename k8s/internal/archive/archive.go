// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	refName     = "org.opencontainers.image.ref.name"
	chartConfig = types.MediaType("application/vnd.cncf.helm.config.v1+json")
	indexFile   = "index.json"
	layoutFile  = "oci-layout"
)

// Part is an image or a chart. One of the two values is there: an image of several
// architectures, or anything else.
type Part struct {
	Name, Tag string
	Index     v1.ImageIndex
	Image     v1.Image
}

func (p Part) String() string { return p.Name + ":" + p.Tag }

func (p Part) digest() (v1.Hash, error) {
	if p.Index != nil {
		return p.Index.Digest()
	}
	return p.Image.Digest()
}

// IsChart reports whether it is a chart.
func (p Part) IsChart() bool {
	if p.Image == nil {
		return false
	}
	manifest, err := p.Image.Manifest()
	return err == nil && manifest.Config.MediaType == chartConfig
}

// Open reads an archive, and returns how many bytes of it are the program.
func Open(file io.ReaderAt, size int64) (parts []Part, program int64, err error) {
	files, err := zip.NewReader(file, size)
	if errors.Is(err, zip.ErrFormat) {
		return nil, 0, errors.New("there are no images behind this program: it is not the file that was published")
	}
	if err != nil {
		return nil, 0, err
	}
	if program, err = strconv.ParseInt(files.Comment, 10, 64); err != nil || program < 0 || program > size {
		return nil, 0, fmt.Errorf("the archive says %.40q for the size of its program", files.Comment)
	}
	parts, err = Read(files)
	return parts, program, err
}

// Read returns the parts of an OCI layout, in its order.
func Read(files fs.FS) (parts []Part, err error) {
	text, err := fs.ReadFile(files, indexFile)
	if err != nil {
		return nil, err
	}
	manifest, err := v1.ParseIndexManifest(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", indexFile, err)
	}
	all := blobs{files}
	for _, d := range manifest.Manifests {
		p, err := named(d.Annotations[refName])
		if err != nil {
			return nil, err
		}
		if d.MediaType.IsIndex() {
			p.Index, err = all.readIndex(d)
		} else {
			p.Image, err = all.readImage(d)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", p, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// named is a part without content, by NAME:TAG.
func named(text string) (Part, error) {
	tag, err := name.NewTag("registry.invalid/"+text, name.StrictValidation)
	if err != nil || strings.Contains(text, "/") {
		return Part{}, fmt.Errorf("%.80q is not the NAME:TAG of an image", text)
	}
	base, label, _ := strings.Cut(text, ":")
	if label != tag.TagStr() {
		return Part{}, fmt.Errorf("%.80q is not the NAME:TAG of an image", text)
	}
	return Part{Name: base, Tag: label}, nil
}
