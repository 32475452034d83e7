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
)

// EntryError is a file in the store that is damaged.
type EntryError struct {
	File string
	Err  error
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("read backup %s: %v; move it away if it is not wanted", e.File, e.Err)
}

func (e *EntryError) Unwrap() error { return e.Err }

const (
	apiVersion  = "metax-ctk/v1"
	kind        = "Original"
	recordName  = "record.json"
	contentName = "original"
)

// kept is what a file was, as its record has it.
type kept struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Path       string `json:"path"`
	// Original is the SHA-256 of the content, "" where there was no file.
	Original string `json:"original,omitempty"`
	// Written are the SHA-256 of what the file holds if nobody but us has changed it:
	// before and after the last change, since its writer may have been killed. None is
	// there if somebody has.
	Written []string `json:"written"`

	text []byte // the original itself
}

// digest is how a record names a content.
func digest(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// load returns what is kept of a file, also by older versions.
func (s Store) load(path string) (k kept, known bool, err error) {
	if err := straight(path); err != nil {
		return k, false, err
	}
	dir := s.dirOf(path)
	file := filepath.Join(dir, recordName)
	err = readJSON(file, &k)
	if errors.Is(err, fs.ErrNotExist) {
		return numbered(dir, path)
	}
	if err == nil && (k.APIVersion != apiVersion || k.Kind != kind || k.Path != path) {
		err = fmt.Errorf("it is a %q %q of %q, not a %q %q of this file", k.APIVersion, k.Kind, k.Path, apiVersion, kind)
	}
	if err != nil {
		return k, false, &EntryError{file, err}
	}
	k.text, err = copied(filepath.Join(dir, contentName), k.Original)
	return k, err == nil, err
}

func readJSON(file string, to any) error {
	f, err := atomicfile.Read(file, maxFile)
	if err != nil {
		return err
	}
	return json.Unmarshal(f.Data, to)
}

// copied is the content of a copy, nil if there was no file.
func copied(file, want string) ([]byte, error) {
	if want == "" {
		return nil, nil
	}
	f, err := atomicfile.Read(file, maxFile)
	if err == nil && digest(f.Data) != want {
		err = errors.New("damaged: it is not what was kept")
	}
	if err != nil {
		return nil, &EntryError{file, err}
	}
	return f.Data, nil
}

// keep writes the copy, if there is none yet, and then the record: without it the copy
// does not count.
func (s Store) keep(k kept) error {
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
		err = sweep(dir, func(name string) bool { return isNumbered(name) || left(name) })
	}
	return err
}

// drop takes away what is kept of a file, the record first, and of older versions'
// copies the lowest last.
func (s Store) drop(path string) error {
	dir := s.dirOf(path)
	err := sweep(dir, func(name string) bool {
		return name == recordName || name == contentName || isNumbered(name) || left(name)
	})
	_ = os.Remove(dir) // unless somebody has put something into it
	return err
}

// left reports whether a file is what a writer left that was killed.
func left(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// sweep removes the files of a directory that are rubbish, the last name first; there
// need not be one.
func sweep(dir string, rubbish func(name string) bool) error {
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
