// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// EntryError reports a damaged file in the store.
type EntryError struct {
	File string
	Err  error
}

func (e *EntryError) Error() string {
	said := fmt.Sprintf("read backup %s: %v", e.File, e.Err)
	if newer := (*wording.VersionError)(nil); errors.As(e.Err, &newer) {
		return said
	}
	return said + "; move it away if it is not wanted"
}

func (e *EntryError) Unwrap() error { return e.Err }

const (
	apiVersion  = "metax-ctk/v1"
	kind        = "Original"
	recordName  = "record.json"
	contentName = "original"
)

// record is the original of a file, as record.json describes it.
type record struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Path       string `json:"path"`
	// Original is the SHA-256 of the content, "" if the file did not exist.
	Original string `json:"original,omitempty"`
	// Written are the SHA-256 that the file has if only the toolkit has changed it:
	// those before and after the last change, because its writer may have been killed.
	// It is empty if another program or person has changed the file.
	Written []string `json:"written"`

	text []byte // the original itself
}

// contentDigest identifies a content in a record; "" for a file that does not exist.
func contentDigest(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// loadRecord returns the record of a file.
func (s Store) loadRecord(path string) (k record, known bool, err error) {
	if err := checkClean(path); err != nil {
		return k, false, err
	}
	dir := s.dirOf(path)
	file := filepath.Join(dir, recordName)
	err = readJSON(file, &k)
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	}
	if err == nil && k.Kind == kind && k.APIVersion != apiVersion && k.APIVersion != "" {
		err = &wording.VersionError{Version: k.APIVersion}
	}
	if err == nil && (k.APIVersion != apiVersion || k.Kind != kind || k.Path != path) {
		err = fmt.Errorf("it is a %q %q of %q, not a %q %q of this file", k.APIVersion, k.Kind, k.Path, apiVersion, kind)
	}
	if err != nil {
		return k, false, &EntryError{file, err}
	}
	k.text, err = readCopy(filepath.Join(dir, contentName), k.Original)
	return k, err == nil, err
}

func readJSON(file string, to any) error {
	f, err := atomicfile.Read(file, maxFile)
	if err != nil {
		return err
	}
	return json.Unmarshal(f.Data, to)
}

// readCopy is the content of a copy; nil if the file did not exist.
func readCopy(file, want string) ([]byte, error) {
	if want == "" {
		return nil, nil
	}
	f, err := atomicfile.Read(file, maxFile)
	if err == nil && contentDigest(f.Data) != want {
		err = errors.New("damaged: the copy does not match its record")
	}
	if err != nil {
		return nil, &EntryError{file, err}
	}
	return f.Data, nil
}

// saveRecord writes the copy, if there is none yet, and then the record: a copy without a
// record does not count.
func (s Store) saveRecord(k record) error {
	k.APIVersion, k.Kind = apiVersion, kind
	dir, private := s.dirOf(k.Path), atomicfile.Options{Perm: 0o600}
	record, err := json.MarshalIndent(k, "", "  ")
	if err == nil {
		err = atomicfile.MakeDir(dir, 0o700)
	}
	if err == nil && k.text != nil {
		_, err = atomicfile.Write(filepath.Join(dir, contentName), k.text, private)
	}
	if err == nil {
		_, err = atomicfile.Write(filepath.Join(dir, recordName), append(record, '\n'), private)
	}
	if err == nil {
		err = removeMatching(dir, isTemporary)
	}
	return err
}

// removeRecord removes the record and then the copy of a file.
func (s Store) removeRecord(path string) error {
	dir := s.dirOf(path)
	err := removeMatching(dir, func(name string) bool {
		return name == recordName || name == contentName || isTemporary(name)
	})
	_ = os.Remove(dir) // fails if there are other files in it
	return err
}

// isTemporary reports whether a killed writer left a file.
func isTemporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// removeMatching removes the matching files of a directory, the last name first. The
// directory need not exist.
func removeMatching(dir string, rubbish func(name string) bool) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("clear up: %w", err)
	}
	for _, f := range slices.Backward(files) {
		if !f.Type().IsRegular() || !rubbish(f.Name()) {
			continue
		}
		if _, err := atomicfile.Remove(filepath.Join(dir, f.Name())); err != nil {
			return fmt.Errorf("clear up: %w", err)
		}
	}
	return nil
}
