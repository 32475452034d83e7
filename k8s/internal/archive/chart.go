// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"encoding/json"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// chart is the artifact of a chart.
type chart struct {
	config, raw []byte
	layer       v1.Layer
}

// NewChart is a chart of a name and a version: its description as JSON, and the packed files.
func NewChart(name, version string, description, packed []byte) (Part, error) {
	layer := static.NewLayer(packed, "application/vnd.cncf.helm.chart.content.v1.tar+gzip")
	digest, err := layer.Digest()
	if err != nil {
		return Part{}, err
	}
	config, size, err := v1.SHA256(bytes.NewReader(description))
	if err != nil {
		return Part{}, err
	}
	raw, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Config: v1.Descriptor{MediaType: chartConfig, Digest: config, Size: size},
		Layers: []v1.Descriptor{{
			MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Digest: digest,
			Size: int64(len(packed)),
		}},
	})
	if err != nil {
		return Part{}, err
	}
	image, err := partial.CompressedToImage(chart{description, raw, layer})
	return Part{Name: name, Tag: version, Image: image}, err
}

func (c chart) MediaType() (types.MediaType, error)                    { return types.OCIManifestSchema1, nil }
func (c chart) RawManifest() ([]byte, error)                           { return c.raw, nil }
func (c chart) RawConfigFile() ([]byte, error)                         { return c.config, nil }
func (c chart) LayerByDigest(v1.Hash) (partial.CompressedLayer, error) { return c.layer, nil }
