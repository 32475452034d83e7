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

// numberedRecord is one change of a file, as older versions recorded it.
type numberedRecord struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	Op     string `json:"op"`
	Before string `json:"before"` // digests, "" where there was no file
	After  string `json:"after"`

	content string // the file with the content before
}

var numberedName = regexp.MustCompile(`^[0-9]{6,}\.(json|before)$`)

func isNumbered(name string) bool { return numberedName.MatchString(name) }

// loadNumbered returns the original of a file from the records of older versions: the
// lowest copy since the toolkit last began to change it.
func loadNumbered(dir, path string) (k record, known bool, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	} else if err != nil {
		return k, false, fmt.Errorf("read backups of %s: %w", path, err)
	}
	var all []numberedRecord
	for _, f := range files {
		number, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok || !isNumbered(f.Name()) {
			continue
		}
		file := filepath.Join(dir, f.Name())
		e := numberedRecord{content: filepath.Join(dir, number+".before")}
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
	if last.Op == "remove" || last.After == first.Before { // the file has none of our settings any more
		return k, false, nil
	}
	k = record{Path: path, Original: first.Before, Written: []string{first.Before}}
	for _, e := range all {
		if !slices.Contains(k.Written, e.Before) { // another program changed the file, or the record of the change is gone
			k.Written = nil
			break
		}
		k.Written = append(k.Written, e.After)
	}
	k.text, err = readCopy(first.content, first.Before)
	return k, err == nil, err
}
