// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"cmp"
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
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

const (
	// format is changed if the meaning or source of facts changes.
	format = "metax-ctk/image-facts/v1"
	// maxKept is the maximum number of images in the cache.
	maxKept = 256
	// maxFacts bounds a file in bytes.
	maxFacts = 1 << 20
	// suffix is the end of the names of cache files.
	suffix = ".image.json"
)

// Cache stores facts in one file per image, below a directory to which only its user
// should have write access. With an empty Dir nothing is stored.
type Cache struct{ Dir string }

// Key identifies facts: an image never changes, but the platform and the labels that
// are read may.
type Key struct {
	ID       string   `json:"id"`
	Platform string   `json:"platform"`
	Labels   []string `json:"labels"` // the names of the labels that were read
}

// entry is a file of the cache.
type entry struct {
	Format string `json:"format"`
	Key    Key    `json:"key"`
	Facts  Facts  `json:"facts"`
}

// file is the key's path. Its name is a digest, because an ID is not a valid file name.
func (c Cache) file(key Key) string {
	h := sha256.New()
	for _, text := range append([]string{format, key.ID, key.Platform}, key.Labels...) {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return filepath.Join(c.Dir, hex.EncodeToString(h.Sum(nil))+suffix)
}

// Get returns stored facts. A file that is damaged or not owned by the user counts as
// absent. The facts lack Env, Labels and Volumes, which Read takes from the engine.
func (c Cache) Get(key Key) (Facts, bool) {
	if c.Dir == "" {
		return Facts{}, false
	}
	var stat unix.Stat_t
	if err := unix.Lstat(c.file(key), &stat); err != nil || int(stat.Uid) != os.Geteuid() {
		return Facts{}, false
	}
	file, err := atomicfile.Read(c.file(key), maxFacts)
	if err != nil {
		return Facts{}, false
	}
	var e entry
	decoder := json.NewDecoder(bytes.NewReader(file.Data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil || decoder.More() || !e.holds(key) {
		return Facts{}, false
	}
	return e.Facts, true
}

// holds reports whether the entry belongs to the key and could have been written by
// Put.
func (e entry) holds(key Key) bool {
	return e.Format == format && e.Key.ID == key.ID && e.Key.Platform == key.Platform &&
		slices.Equal(e.Key.Labels, key.Labels) &&
		e.Facts.ID == key.ID && e.Facts.Platform == key.Platform &&
		(e.Facts.MACA == nil || e.Facts.MACA.Dir != "")
}

// Put stores facts for the key, and removes the oldest files if there are too many.
func (c Cache) Put(key Key, facts Facts) error {
	if c.Dir == "" {
		return nil
	}
	text, err := json.Marshal(entry{format, key, facts})
	if err != nil {
		return fmt.Errorf("cache facts of image %q: %w", key.ID, err)
	}
	if len(text) > maxFacts {
		return fmt.Errorf("cache facts of image %q: %w: %d bytes", key.ID, ErrTooLarge, len(text))
	}
	if _, err := atomicfile.Write(c.file(key), append(text, '\n'), atomicfile.Options{Perm: 0o600}); err != nil {
		return fmt.Errorf("cache facts of image %q: %w", key.ID, err)
	}
	return c.prune()
}

// prune removes the oldest files beyond maxKept, and temporary files of killed writers.
// Other processes may do the same at the same time.
func (c Cache) prune() error {
	list, err := os.ReadDir(c.Dir)
	if err != nil {
		return fmt.Errorf("list cached facts: %w", err)
	}
	type kept struct {
		name string
		time time.Time
	}
	var files []kept
	var old []string
	for _, e := range list {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // removed by another process, or not a cache file
		}
		name := e.Name()
		switch {
		case isKept(name):
			files = append(files, kept{name, info.ModTime()})
		case isLeftover(name) && time.Since(info.ModTime()) > time.Hour:
			old = append(old, name)
		}
	}
	slices.SortFunc(files, func(a, b kept) int { return cmp.Or(b.time.Compare(a.time), strings.Compare(a.name, b.name)) })
	for _, f := range files[min(len(files), maxKept):] {
		old = append(old, f.name)
	}
	for _, name := range old {
		if err := os.Remove(filepath.Join(c.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove old facts: %w", err)
		}
	}
	return nil
}

// isKept reports whether a name is that of a cache file.
func isKept(name string) bool {
	digest, ok := strings.CutSuffix(name, suffix)
	return ok && len(digest) == 2*sha256.Size && strings.Trim(digest, "0123456789abcdef") == ""
}

// isLeftover reports whether a name is that of a temporary file of a killed writer.
func isLeftover(name string) bool {
	base, _, ok := strings.Cut(strings.TrimPrefix(name, "."), suffix+".")
	return ok && isKept(base+suffix) && atomicfile.IsTemporary(name, base+suffix)
}
