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

// Change is what becomes of one configuration file.
type Change struct {
	Path string
	// Before and After are the contents; nil means that there is no file.
	Before, After []byte
	// Mode is for a file that is made; one that is there keeps its own.
	Mode fs.FileMode
	// First says that nothing of ours is in Before, so that it is the original; Last
	// that nothing of ours is in After, so that no original is needed any more.
	First, Last bool
}

// Apply carries out the changes that plan returns, all of them or none. Two of them
// run one after the other, with their plans: of two plans made at the same time, one
// could undo what the other has not done yet. A file whose content is not
// Change.Before gives atomicfile.ErrChanged, and nothing is changed. A symbolic link
// stays, and what it leads to is changed.
func (s Store) Apply(plan func() ([]Change, error)) ([]Change, error) {
	turn, err := s.lock(".turn", unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer turn.Close()
	changes, err := plan()
	if err != nil {
		return nil, err
	}
	lock, err := s.lock(".lock", unix.LOCK_EX)
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
			// All is done. A copy that stays is dropped with the next first change.
			_ = s.drop(step.Path)
		}
	}
	return nil
}

// step is one change on its way.
type step struct {
	Change
	store  Store
	target string           // the file itself, which a link may lead to
	meta   *atomicfile.Meta // of the file before; nil if there was none
}

// prepare finds out all there is to know before a change, and clears up.
func (s Store) prepare(c Change) (step, error) {
	target, err := resolve(c.Path)
	if err == nil && target != c.Path && c.After == nil {
		err = &LinkError{c.Path, "would lead nowhere if " + target + " were removed"}
	}
	st := step{Change: c, store: s, target: target}
	if err == nil {
		err = st.look()
	}
	if err == nil && c.Before != nil {
		var meta atomicfile.Meta
		meta, err = atomicfile.MetaOf(target)
		st.meta = &meta
	}
	if err == nil {
		err = clearUp(target)
	}
	return st, err
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

// do brings the record up to date and changes the file.
func (st step) do() error {
	if err := st.record(); err != nil {
		return fmt.Errorf("keep a backup of %s: %w", st.Path, err)
	}
	if err := st.look(); err != nil {
		return err
	}
	return st.put(st.After)
}

// record writes what is known once the file is changed. Of a file that had something
// of ours before anything was kept, the original is not known.
func (st step) record() error {
	before := digest(st.Before)
	switch {
	case st.Last:
		return nil
	case st.First:
		if err := st.store.drop(st.Path); err != nil {
			return err
		}
		return st.store.keep(kept{Path: st.Path, Original: before, Written: []string{before, digest(st.After)}, text: st.Before})
	}
	k, known, err := st.store.load(st.Path)
	if err != nil || !known {
		return err
	}
	if slices.Contains(k.Written, before) {
		k.Written = []string{before, digest(st.After)}
	} else {
		k.Written = nil
	}
	return st.store.keep(k)
}

// undo puts the file back, if it was changed, and takes away the copy that was made
// for the change. If it cannot do the one, it does not do the other.
func (st step) undo() error {
	now, err := content(st.target)
	if err == nil && digest(now) == digest(st.After) {
		err = st.put(st.Before)
	}
	if err == nil && st.First {
		err = st.store.drop(st.Path)
	}
	if err != nil {
		return fmt.Errorf("put %s back: %w", st.Path, err)
	}
	return nil
}
