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

// TestKinds looks at what is not a plain file, and at what the image says of itself.
func TestKinds(t *testing.T) {
	i := Image{
		Ref: "localhost/x:1", Links: map[string]string{"/b": "../a", "/a": "/"}, FIFOs: []string{"/p"},
		Env: []string{"A=b"}, Labels: map[string]string{"l": "1"}, Volumes: []string{"/v"},
	}
	layer, err := i.layer()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(layer)); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(header.Typeflag)+" "+header.Name+" "+header.Linkname)
	}
	if diff := cmp.Diff([]string{"2 a /", "2 b ../a", "6 p "}, got); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
	config, err := json.Marshal(i.config())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"Cmd":null,"Env":["PATH=/","A=b"],"Labels":{"l":"1"},"Volumes":{"/v":{}}}`, string(config)); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}
