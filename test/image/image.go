// SPDX-License-Identifier: Apache-2.0

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

// Image is a container image of one layer. All paths are absolute.
type Image struct {
	// Ref is its name and tag, such as "localhost/probe:1".
	Ref string
	// Files are its executables: path to content.
	Files map[string][]byte
	// Dirs are further directories.
	Dirs []string
	// Links are its symbolic links: path to what the link says.
	Links map[string]string
	// FIFOs are its named pipes.
	FIFOs []string
	// Cmd is what it runs by default.
	Cmd []string
	// Env are the variables that it sets, as NAME=VALUE; PATH is / unless it is among them.
	Env []string
	// Labels are what it says of itself.
	Labels map[string]string
	// Volumes are the directories that it wants a volume on.
	Volumes []string
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
		"config":       i.config(),
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
		{name: "manifest.json", mode: 0o644, data: manifest},
		{name: configName, mode: 0o644, data: config},
		{name: layerName, mode: 0o644, data: layer},
	})
	if err != nil {
		return 0, err
	}
	return archive.WriteTo(w)
}

// config is what a container of the image starts from.
func (i Image) config() map[string]any {
	env := i.Env
	if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }) {
		env = append([]string{"PATH=/"}, env...)
	}
	config := map[string]any{"Env": env, "Cmd": i.Cmd}
	if len(i.Labels) > 0 {
		config["Labels"] = i.Labels
	}
	if len(i.Volumes) > 0 {
		volumes := map[string]struct{}{}
		for _, path := range i.Volumes {
			volumes[path] = struct{}{}
		}
		config["Volumes"] = volumes
	}
	return config
}

func (i Image) layer() ([]byte, error) {
	var entries []entry
	for _, dir := range slices.Sorted(slices.Values(i.Dirs)) {
		entries = append(entries, entry{name: inside(dir) + "/", mode: 0o755, kind: tar.TypeDir})
	}
	for _, path := range slices.Sorted(maps.Keys(i.Files)) {
		entries = append(entries, entry{name: inside(path), mode: 0o755, data: i.Files[path]})
	}
	for _, path := range slices.Sorted(maps.Keys(i.Links)) {
		entries = append(entries, entry{name: inside(path), mode: 0o777, kind: tar.TypeSymlink, link: i.Links[path]})
	}
	for _, path := range slices.Sorted(slices.Values(i.FIFOs)) {
		entries = append(entries, entry{name: inside(path), mode: 0o644, kind: tar.TypeFifo})
	}
	layer, err := pack(entries)
	if err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}

func inside(path string) string { return strings.TrimPrefix(path, "/") }

// entry is one member of a tar archive, a regular file unless kind says otherwise.
type entry struct {
	name string
	mode int64
	data []byte
	kind byte
	link string
}

func pack(entries []entry) (*bytes.Buffer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		header := &tar.Header{Typeflag: e.kind, Name: e.name, Linkname: e.link, Mode: e.mode, Size: int64(len(e.data))}
		if err := w.WriteHeader(header); err != nil {
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
