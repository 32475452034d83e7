package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// Apply carries changes out, all of them or none, and keeps what the files were.
// A file whose content is not Change.Before gives atomicfile.ErrChanged, and
// nothing is changed. A symbolic link stays, and what it leads to is changed.
func (s Store) Apply(op Op, changes []Change) error {
	lock, err := s.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close() // nothing is written to it
	number, err := s.next()
	if err != nil {
		return err
	}
	var steps []step
	for _, c := range changes {
		if bytes.Equal(c.Before, c.After) && (c.Before == nil) == (c.After == nil) {
			continue
		}
		step, err := s.prepare(c, op, number)
		if err != nil {
			return err
		}
		steps = append(steps, step)
	}
	for i, step := range steps {
		if err := step.do(); err != nil {
			for ; i >= 0; i-- {
				err = errors.Join(err, steps[i].undo())
			}
			return err
		}
	}
	return nil
}

// next is the number of the next Apply.
func (s Store) next() (int, error) {
	last := 0
	dirs, err := os.ReadDir(s.dir)
	for _, dir := range dirs {
		if !dir.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(s.dir, dir.Name()))
		if err != nil {
			return 0, fmt.Errorf("read backups: %w", err)
		}
		for _, f := range files {
			last = max(last, numberOf(f.Name(), recordName))
		}
	}
	if err != nil {
		return 0, fmt.Errorf("read backups: %w", err)
	}
	return last + 1, nil
}

// step is one change on its way.
type step struct {
	Change
	entry  entry
	target string          // the file itself, which a link may lead to
	meta   atomicfile.Meta // of the file before, or of the one that is made
}

// prepare finds out all there is to know before a change, and clears up.
func (s Store) prepare(c Change, op Op, number int) (step, error) {
	target, err := resolve(c.Path)
	if err == nil && target != c.Path && c.After == nil {
		err = &LinkError{c.Path, "would lead nowhere if " + target + " were removed"}
	}
	if err != nil {
		return step{}, err
	}
	st := step{Change: c, target: target}
	if err := st.look(); err != nil {
		return st, err
	}
	all, err := s.entries(c.Path)
	if err == nil && op == Rollback && !undoes(all, c) {
		// Others have gone to and fro since it was found out what to undo.
		return st, fmt.Errorf("change %s: %w", c.Path, atomicfile.ErrChanged)
	}
	if damaged := (*EntryError)(nil); err != nil && !errors.As(err, &damaged) {
		return st, err
	} else if err == nil {
		if err := s.rotate(c.Path, all, digest(c.Before)); err != nil {
			return st, err
		}
	}
	if st.meta, err = st.metaOf(all); err != nil {
		return st, err
	}
	st.entry = entry{
		APIVersion: apiVersion, Kind: kind, Path: c.Path, Number: number, Op: op, Existed: c.Before != nil,
		Before: digest(c.Before), After: digest(c.After), dir: s.dirOf(c.Path),
	}
	if c.Before != nil {
		st.entry.Mode = "0" + strconv.FormatUint(uint64(st.meta.Mode.Perm()), 8)
		st.entry.UID, st.entry.GID, st.entry.Attrs = st.meta.UID, st.meta.GID, st.meta.Attrs
	}
	return st, clearUp(target)
}

// look checks that the file is what it is to be changed from.
func (st step) look() error {
	now, err := content(st.target)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, st.Before) || (now == nil) != (st.Before == nil) {
		return fmt.Errorf("change %s: %w", st.Path, atomicfile.ErrChanged)
	}
	return nil
}

// content is that of a file, nil if there is none.
func content(path string) ([]byte, error) {
	f, err := atomicfile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return f.Data, nil
}

// metaOf is the Meta of the file that is there, or of the one that is made. One
// that comes back as it was gets what it had.
func (st step) metaOf(all []entry) (atomicfile.Meta, error) {
	if st.Before != nil {
		return atomicfile.MetaOf(st.target)
	}
	if len(all) > 0 {
		if last := all[len(all)-1]; last.After == "" && last.Existed && last.Before == digest(st.After) {
			return last.meta(), nil
		}
	}
	return atomicfile.Meta{Mode: st.Mode.Perm(), UID: os.Geteuid(), GID: os.Getegid()}, nil
}

// do keeps the entry and changes the file.
func (st step) do() error {
	if err := st.entry.keep(st.Before); err != nil {
		return fmt.Errorf("keep a backup of %s: %w", st.Path, err)
	}
	if err := st.look(); err != nil {
		return err
	}
	if st.After != nil {
		if err := atomicfile.MakeDir(filepath.Dir(st.target), 0o755); err != nil {
			return fmt.Errorf("write %s: %w", st.target, err)
		}
	}
	return put(st.target, st.After, st.meta)
}

// undo puts the file back, if it was changed, and takes the entry away. If it
// cannot do the one, it does not do the other.
func (st step) undo() error {
	now, err := content(st.target)
	if err == nil && digest(now) == st.entry.After {
		err = put(st.target, st.Before, st.meta)
	}
	if err == nil {
		err = st.entry.drop()
	}
	if err != nil {
		return fmt.Errorf("put %s back: %w", st.Path, err)
	}
	return nil
}
