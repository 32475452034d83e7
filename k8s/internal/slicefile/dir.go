// SPDX-License-Identifier: Apache-2.0

package slicefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Dir is the path of the directory. It does not have to exist. The empty Dir has no files.
type Dir string

const maxFiles = 4096 // more than slices fit on any node

// name is what the files are called: a UUID.
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Set makes the files those of the map, by the UUIDs of slices. Of others, it removes those
// that isOwn reports as written by Set. A reader of the directory never sees an incomplete
// file.
func (d Dir) Set(files map[string]protocol.SliceFile, isOwn func(protocol.SliceFile) bool) error {
	if d == "" {
		return nil
	}
	before, err := d.Read()
	if err != nil {
		return err
	}
	var errs []error
	for uuid, f := range before {
		if _, stays := files[uuid]; !stays && isOwn(f) {
			errs = append(errs, os.Remove(filepath.Join(string(d), uuid)))
		}
	}
	for uuid, f := range files {
		if !name.MatchString(uuid) {
			errs = append(errs, fmt.Errorf("%.80q cannot be the name of a slice's file", uuid))
			continue
		}
		_, err := atomicfile.Write(filepath.Join(string(d), uuid), []byte(f.String()),
			atomicfile.Options{Perm: 0o644, Dir: filepath.Dir(string(d)), NoSync: true})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Read returns the files by the UUIDs of their slices. What is not such a file is left out.
func (d Dir) Read() (map[string]protocol.SliceFile, error) {
	files := map[string]protocol.SliceFile{}
	if d == "" {
		return files, nil
	}
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the files of slices: %w", err)
	}
	for _, e := range entries {
		if !name.MatchString(e.Name()) || len(files) == maxFiles {
			continue
		}
		read, err := atomicfile.Read(filepath.Join(string(d), e.Name()), protocol.MaxSliceFile)
		if err != nil {
			continue
		}
		if f, err := protocol.ParseSliceFile(string(read.Data)); err == nil {
			files[e.Name()] = f
		}
	}
	return files, nil
}
