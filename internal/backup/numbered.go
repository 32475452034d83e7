package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// entry is one change of a file, as older versions kept it.
type entry struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	Op     string `json:"op"`
	Before string `json:"before"` // digests, "" where there was no file
	After  string `json:"after"`

	content string // the file with the content before
}

var numberedName = regexp.MustCompile(`^[0-9]{6,}\.(json|before)$`)

func isNumbered(name string) bool { return numberedName.MatchString(name) }

// numbered returns what older versions kept of a file: the lowest of the copies since
// something of ours last came into it.
func numbered(dir, path string) (k kept, known bool, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	} else if err != nil {
		return k, false, fmt.Errorf("read backups of %s: %w", path, err)
	}
	var all []entry
	for _, f := range files {
		number, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok || !isNumbered(f.Name()) {
			continue
		}
		file := filepath.Join(dir, f.Name())
		e := entry{content: filepath.Join(dir, number+".before")}
		err := readJSON(file, &e)
		if err == nil && (e.Kind != "Backup" || e.Path != path) {
			err = fmt.Errorf("it is a %q of %q", e.Kind, e.Path)
		}
		if err != nil {
			return k, false, &EntryError{file, err}
		}
		if e.Op == "begin" || len(all) > 0 && all[len(all)-1].Op == "remove" {
			all = nil
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return k, false, nil
	}
	first, last := all[0], all[len(all)-1]
	if last.Op == "remove" || last.After == first.Before { // nothing of ours is left in the file
		return k, false, nil
	}
	k = kept{Path: path, Original: first.Before, Written: []string{first.Before}}
	for _, e := range all {
		if !slices.Contains(k.Written, e.Before) { // somebody else's, or no longer kept
			k.Written = nil
			break
		}
		k.Written = append(k.Written, e.After)
	}
	k.text, err = copied(first.content, first.Before)
	return k, err == nil, err
}
