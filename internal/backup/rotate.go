package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// rotate makes room for one more entry of a file, and clears up what writers left
// that were killed. Nobody else is writing.
func (s Store) rotate(path string, all []entry, now string) error {
	all = slices.Clone(all)
	stack := standing(all, now)
	original := 0 // the number of the entry that has it
	if i := first(stack); i >= 0 {
		original = stack[i].Number
	}
	for len(all) >= Keep {
		// What was rolled back goes first; it is older than what rolled it back, so
		// that it does not stand again.
		i := slices.IndexFunc(all, func(e entry) bool {
			return !slices.ContainsFunc(stack, func(s entry) bool { return s.Number == e.Number })
		})
		if i < 0 {
			i = slices.IndexFunc(all, func(e entry) bool { return e.Number != original })
		}
		if err := all[i].drop(); err != nil {
			return fmt.Errorf("drop an old backup of %s: %w", path, err)
		}
		all = slices.Delete(all, i, i+1)
	}
	return sweep(s.dirOf(path), func(name string) bool {
		n := numberOf(name, contentName)
		orphan := n > 0 && !slices.ContainsFunc(all, func(e entry) bool { return e.Number == n })
		return orphan || left(name)
	})
}

// sweep removes the files of a directory that are rubbish; there need not be one.
func sweep(dir string, rubbish func(name string) bool) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("clear up: %w", err)
	}
	for _, f := range files {
		if !f.Type().IsRegular() || !rubbish(f.Name()) {
			continue
		}
		if _, err := atomicfile.Remove(filepath.Join(dir, f.Name())); err != nil {
			return fmt.Errorf("clear up: %w", err)
		}
	}
	return nil
}
