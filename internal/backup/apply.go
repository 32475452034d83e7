// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// Change is one configuration file before and after a change.
type Change struct {
	Path string
	// Before and After are the contents; nil means that the file does not exist.
	Before, After []byte
	// Mode is for a new file; an existing one keeps its mode.
	Mode fs.FileMode
	// First is whether Before has nothing of the toolkit, so that it is the original;
	// Last whether After has nothing of it, so that the original is no longer needed.
	First, Last bool
}

// Apply carries out the changes that plan returns, all or none. Calls run one after the
// other, including their plans: of two plans made at the same time, one could undo what
// the other has not done yet. If a file's content is not Change.Before, Apply fails
// with atomicfile.ErrChanged and changes nothing. It keeps a symbolic link and changes
// the file that it leads to.
func (s Store) Apply(plan func() ([]Change, error)) ([]Change, error) {
	turn, err := s.openLocked(".turn", unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer turn.Close()
	changes, err := plan()
	if err != nil {
		return nil, err
	}
	lock, err := s.openLocked(".lock", unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer lock.Close() // nothing is written to it
	return changes, s.apply(changes)
}

func (s Store) apply(changes []Change) error {
	var steps []step
	for _, c := range changes {
		if bytes.Equal(c.Before, c.After) && (c.Before == nil) == (c.After == nil) {
			continue
		}
		step, err := s.prepare(c)
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
	for _, step := range steps {
		if step.Last {
			// All is done. If a copy stays, the next first change removes it.
			_ = s.removeRecord(step.Path)
		}
	}
	return nil
}

// step is one change being carried out.
type step struct {
	Change
	store  Store
	target string           // the file itself, which a link may lead to
	meta   *atomicfile.Meta // of the file before; nil if there was none
}

// prepare reads what a change needs to know, and removes leftovers of killed writers.
func (s Store) prepare(c Change) (step, error) {
	target, err := resolveTarget(c.Path)
	if err == nil && target != c.Path && c.After == nil {
		err = &LinkError{c.Path, "would lead nowhere if " + target + " were removed"}
	}
	st := step{Change: c, store: s, target: target}
	if err == nil {
		err = st.checkUnchanged()
	}
	if err == nil && c.Before != nil {
		var meta atomicfile.Meta
		meta, err = atomicfile.MetaOf(target)
		st.meta = &meta
	}
	if err == nil {
		err = removeLeftovers(target)
	}
	return st, err
}

// checkUnchanged fails if the file's content is not that before the change.
func (st step) checkUnchanged() error {
	now, err := readContent(st.target)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, st.Before) || (now == nil) != (st.Before == nil) {
		return fmt.Errorf("change %s: %w", st.Path, atomicfile.ErrChanged)
	}
	return nil
}

// readContent is a file's content; nil if it does not exist.
func readContent(path string) ([]byte, error) {
	f, err := atomicfile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return f.Data, nil
}

// do writes the record and changes the file.
func (st step) do() error {
	if err := st.writeRecord(); err != nil {
		return fmt.Errorf("save a backup of %s: %w", st.Path, err)
	}
	if err := st.checkUnchanged(); err != nil {
		return err
	}
	return st.writeTarget(st.After)
}

// writeRecord records the change before it is made. The original stays unknown for a
// file that already had something of the toolkit before its first record.
func (st step) writeRecord() error {
	before := contentDigest(st.Before)
	switch {
	case st.Last:
		return nil
	case st.First:
		if err := st.store.removeRecord(st.Path); err != nil {
			return err
		}
		return st.store.saveRecord(
			record{Path: st.Path, Original: before, Written: []string{before, contentDigest(st.After)}, text: st.Before})
	}
	k, known, err := st.store.loadRecord(st.Path)
	if err != nil || !known {
		return err
	}
	if slices.Contains(k.Written, before) {
		k.Written = []string{before, contentDigest(st.After)}
	} else {
		k.Written = nil
	}
	return st.store.saveRecord(k)
}

// undo restores the file, if it was changed, and then removes the copy that was made
// for the change. If the first fails it does not do the second.
func (st step) undo() error {
	now, err := readContent(st.target)
	if err == nil && contentDigest(now) == contentDigest(st.After) {
		err = st.writeTarget(st.Before)
	}
	if err == nil && st.First {
		err = st.store.removeRecord(st.Path)
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", st.Path, err)
	}
	return nil
}
