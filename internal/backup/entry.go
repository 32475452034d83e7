package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// EntryError is a file in the store that is damaged, or not of the store.
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
	kind        = "Backup"
	recordName  = ".json"
	contentName = ".before"
)

// entry is one change of one file, as its record has it.
type entry struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Path       string `json:"path"`
	Number     int    `json:"number"`
	Op         Op     `json:"op"`
	// Existed is whether there was a file; the other facts are about that file.
	Existed bool              `json:"existed"`
	Mode    string            `json:"mode,omitempty"` // octal
	UID     int               `json:"uid"`
	GID     int               `json:"gid"`
	Attrs   map[string][]byte `json:"attrs,omitempty"`
	// Before and After are the SHA-256 of the contents, "" where there is no file.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`

	dir string
}

// digest is how an entry names a content.
func digest(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// meta is the Meta of the file as it was.
func (e entry) meta() atomicfile.Meta {
	mode, _ := strconv.ParseUint(e.Mode, 8, 9) // load has looked
	return atomicfile.Meta{Mode: fs.FileMode(mode), UID: e.UID, GID: e.GID, Attrs: e.Attrs}
}

func (e entry) file(suffix string) string {
	return filepath.Join(e.dir, fmt.Sprintf("%06d%s", e.Number, suffix))
}

// dirOf is where the entries of a file are.
func (s Store) dirOf(path string) string {
	return filepath.Join(s.dir, url.PathEscape(strings.TrimPrefix(path, "/")))
}

// numberOf is the number that the name of an entry's file has, 0 if it is not such
// a file.
func numberOf(name, suffix string) int {
	digits, ok := strings.CutSuffix(name, suffix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || fmt.Sprintf("%06d", n) != digits {
		return 0
	}
	return max(n, 0)
}

// entries are those of a file, in their order.
func (s Store) entries(path string) ([]entry, error) {
	if err := straight(path); err != nil {
		return nil, err
	}
	dir := s.dirOf(path)
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read backups of %s: %w", path, err)
	}
	var all []entry
	for _, f := range files {
		switch n := numberOf(f.Name(), recordName); {
		case n > 0:
			e, err := load(dir, path, n)
			if err != nil {
				return nil, &EntryError{filepath.Join(dir, f.Name()), err}
			}
			all = append(all, e)
		case numberOf(f.Name(), contentName) == 0 && !left(f.Name()):
			return nil, &EntryError{filepath.Join(dir, f.Name()), errors.New("not a backup")}
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return a.Number - b.Number })
	return all, nil
}

// left tells whether a file is what a writer left that was killed.
func left(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

func load(dir, path string, number int) (entry, error) {
	e := entry{dir: dir, Number: number}
	f, err := atomicfile.Read(e.file(recordName), maxFile)
	if err != nil {
		return e, err
	}
	e.Number = 0
	if err := json.Unmarshal(f.Data, &e); err != nil {
		return e, err
	}
	_, mode := strconv.ParseUint(e.Mode, 8, 9)
	switch {
	case e.APIVersion != apiVersion || e.Kind != kind:
		err = fmt.Errorf("it is a %q %q, not a %q %q", e.APIVersion, e.Kind, apiVersion, kind)
	case e.Path != path:
		err = fmt.Errorf("it is of %q", e.Path)
	case e.Number != number:
		err = fmt.Errorf("it has the number %d", e.Number)
	case e.Op != Begin && e.Op != Configure && e.Op != Remove && e.Op != Rollback:
		err = fmt.Errorf("unknown operation %q", e.Op)
	case !isDigest(e.Before, e.Existed) || !isDigest(e.After, e.After != "") || e.Existed && (mode != nil || e.UID < 0 || e.GID < 0):
		err = errors.New("damaged")
	}
	return e, err
}

func isDigest(s string, want bool) bool {
	b, err := hex.DecodeString(s)
	return err == nil && (len(b) == sha256.Size) == want && (len(b) == 0) == !want
}

// content is what the file held before, nil if there was none.
func (e entry) content() ([]byte, error) {
	if !e.Existed {
		return nil, nil
	}
	f, err := atomicfile.Read(e.file(contentName), maxFile)
	if err == nil && digest(f.Data) != e.Before {
		err = errors.New("damaged: it is not what was kept")
	}
	if err != nil {
		return nil, &EntryError{e.file(contentName), err}
	}
	return f.Data, nil
}

// keep writes the entry, the content first: without a record that does not count.
func (e entry) keep(before []byte) error {
	if err := atomicfile.MakeDir(e.dir, 0o700); err != nil {
		return err
	}
	private := atomicfile.Options{Perm: 0o600}
	if e.Existed {
		if _, err := atomicfile.Write(e.file(contentName), before, private); err != nil {
			return err
		}
	}
	record, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	_, err = atomicfile.Write(e.file(recordName), append(record, '\n'), private)
	return err
}

// drop takes the entry away, the record first.
func (e entry) drop() error {
	for _, suffix := range []string{recordName, contentName} {
		if _, err := atomicfile.Remove(e.file(suffix)); err != nil {
			return err
		}
	}
	return nil
}
