// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzDecode: a response that can be decoded cannot be decoded when it is cut off.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		body = bytes.TrimRight(body, " \t\r\n")
		if len(body) == 0 {
			return
		}
		early := body[:len(body)-1]
		if list, err := decodeList(body); err == nil {
			for _, s := range list {
				if s.ID == "" {
					t.Errorf("%q has a container without an ID", body)
				}
			}
			if _, err := decodeList(early); err == nil {
				t.Errorf("a list is read from %q, too", early)
			}
		}
		if c, err := decodeContainer(body); err == nil {
			if _, err := decodeContainer(early); err == nil || c.ID == "" {
				t.Errorf("container %q; one is read from %q, too: %v", c.ID, early, err)
			}
		}
		if i, err := decodeImage(body); err == nil {
			if _, err := decodeImage(early); err == nil || i.ID == "" {
				t.Errorf("image %q; one is read from %q, too: %v", i.ID, early, err)
			}
		}
		if _, err := decodeEvents(body); err == nil {
			if _, err := decodeEvents(early); err == nil {
				t.Errorf("events are read from %q, too", early)
			}
		}
	})
}

// FuzzArchive: an unpacked file is complete, and not larger than requested.
func FuzzArchive(f *testing.F) {
	const max = 16
	for _, header := range []tar.Header{
		{Typeflag: tar.TypeReg, Name: "f", Size: max},
		{Typeflag: tar.TypeReg, Name: "f", Size: max + 1},
		{Typeflag: tar.TypeDir, Name: "d/"},
		{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc/shadow"},
	} {
		var text bytes.Buffer
		w := tar.NewWriter(&text)
		if err := w.WriteHeader(&header); err != nil {
			f.Fatal(err)
		}
		if _, err := w.Write(make([]byte, header.Size)); err != nil {
			f.Fatal(err)
		}
		f.Add(text.Bytes())
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		data, err := unpackFile(archive, max)
		if len(data) > max || err != nil && data != nil {
			t.Errorf("%d bytes, %v", len(data), err)
		}
		if err != nil {
			return
		}
		if header, err := tar.NewReader(bytes.NewReader(archive)).Next(); err != nil || header.Typeflag != tar.TypeReg || header.Size != int64(len(data)) {
			t.Errorf("%d bytes of %+v, %v", len(data), header, err)
		}
	})
}
