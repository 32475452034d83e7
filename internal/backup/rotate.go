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
	for len(all) >= Keep {
		for _, number := range superfluous(all, stack) {
			i := slices.IndexFunc(all, func(e entry) bool { return e.Number == number })
			if err := all[i].drop(); err != nil {
				return fmt.Errorf("drop an old backup of %s: %w", path, err)
			}
			all = slices.Delete(all, i, i+1)
		}
	}
	return sweep(s.dirOf(path), func(name string) bool {
		n := numberOf(name, contentName)
		orphan := n > 0 && !slices.ContainsFunc(all, func(e entry) bool { return e.Number == n })
		return orphan || left(name)
	})
}

// superfluous are the entries that go first, by their numbers: what does not stand,
// then the oldest that has no original, then the oldest but the one that has the
// original of what stands now, or would stand if the last removal were undone.
//
// A Rollback goes together with what it undid: alone it would undo what came before
// that. It goes before it, as the content of the file tells that the other does not
// stand.
func superfluous(all, stack []entry) []int {
	_, undone := replay(all)
	for _, e := range all {
		if e.Op != Rollback {
			continue
		}
		if of, ok := undone[e.Number]; ok {
			return []int{e.Number, of}
		}
		return []int{e.Number}
	}
	at := first(stack)
	if at < 0 && len(stack) > 1 {
		at = first(stack[:len(stack)-1])
	}
	for _, rest := range []func(entry) bool{
		func(e entry) bool {
			return !slices.ContainsFunc(stack, func(s entry) bool { return s.Number == e.Number })
		},
		func(e entry) bool {
			return e.Op != Begin && e.Existed && e.Number != stack[len(stack)-1].Number && (at < 0 || e.Number != stack[at].Number)
		},
		func(e entry) bool { return at < 0 || e.Number != stack[at].Number },
	} {
		if i := slices.IndexFunc(all, rest); i >= 0 {
			return []int{all[i].Number}
		}
	}
	return []int{all[0].Number}
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
