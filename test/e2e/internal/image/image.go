// Package image writes container images as files, so that the tests need no registry. It
// makes the one kind that every engine loads, the archive of "docker save", and no other.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// Image is a container image of one layer.
type Image struct {
	// Ref is its name and tag, such as "localhost/probe:1".
	Ref string
	// Files are its executables: absolute path to content.
	Files map[string][]byte
	// Dirs are further directories, absolute.
	Dirs []string
	// Cmd is what it runs by default.
	Cmd []string
}

// WriteTo writes the archive. The same image gives the same bytes.
func (i Image) WriteTo(w io.Writer) (int64, error) {
	layer, err := i.layer()
	if err != nil {
		return 0, err
	}
	layerName := digest(layer) + "/layer.tar"
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"created":      "1970-01-01T00:00:00Z",
		"config":       map[string]any{"Env": []string{"PATH=/"}, "Cmd": i.Cmd},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
	})
	if err != nil {
		return 0, err
	}
	configName := digest(config) + ".json"
	manifest, err := json.Marshal([]any{map[string]any{
		"Config": configName, "RepoTags": []string{i.Ref}, "Layers": []string{layerName},
	}})
	if err != nil {
		return 0, err
	}
	archive, err := pack([]entry{
		{"manifest.json", 0o644, manifest},
		{configName, 0o644, config},
		{layerName, 0o644, layer},
	})
	if err != nil {
		return 0, err
	}
	return archive.WriteTo(w)
}

func (i Image) layer() ([]byte, error) {
	var entries []entry
	for _, dir := range slices.Sorted(slices.Values(i.Dirs)) {
		entries = append(entries, entry{strings.TrimPrefix(dir, "/") + "/", 0o755, nil})
	}
	for _, path := range slices.Sorted(maps.Keys(i.Files)) {
		entries = append(entries, entry{strings.TrimPrefix(path, "/"), 0o755, i.Files[path]})
	}
	layer, err := pack(entries)
	if err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}

// entry is a file of a tar archive, or a directory if its name ends in a slash.
type entry struct {
	name string
	mode int64
	data []byte
}

func pack(entries []entry) (*bytes.Buffer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		kind := byte(tar.TypeReg)
		if strings.HasSuffix(e.name, "/") {
			kind = tar.TypeDir
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: kind, Name: e.name, Mode: e.mode, Size: int64(len(e.data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	return &buf, w.Close()
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
