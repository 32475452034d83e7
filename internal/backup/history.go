package backup

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// standing are the changes that a file stands on, the last one on top, where it
// has the content of the given digest: without those that were rolled back, that
// never happened, or that somebody undid by hand.
func standing(all []entry, now string) []entry {
	stack, _ := replay(all)
	return settle(stack, now)
}

// replay is standing before the last settling. It also tells which change each
// Rollback undid, both by their numbers.
func replay(all []entry) (stack []entry, undone map[int]int) {
	undone = map[int]int{}
	for _, e := range all {
		stack = settle(stack, e.Before)
		top := len(stack) - 1
		switch {
		case e.Op != Rollback:
			stack = append(stack, e)
		case top >= 0 && stack[top].After == e.Before && stack[top].Before == e.After:
			undone[e.Number] = stack[top].Number
			stack = stack[:top]
		}
	}
	return stack, undone
}

// settle takes those changes off that a file with this content does not have. One
// with a content of somebody else has them all, as far as can be told.
func settle(stack []entry, now string) []entry {
	for i := len(stack) - 1; i >= 0; i-- {
		if stack[i].After == now {
			return stack[:i+1]
		}
		if stack[i].Before == now {
			return stack[:i]
		}
	}
	return stack
}

// undoes tells whether a change is the last one that the file stands on, backwards.
func undoes(all []entry, c Change) bool {
	stack := standing(all, digest(c.Before))
	top := len(stack) - 1
	return top >= 0 && stack[top].After == digest(c.Before) && stack[top].Before == digest(c.After)
}

// first is the place of the change by which something of ours came into the file;
// -1 if nothing is in there.
func first(stack []entry) int {
	i := len(stack) - 1
	if i < 0 || stack[i].Op == Remove {
		return -1
	}
	for i > 0 && stack[i].Existed && stack[i].Op != Begin && stack[i-1].Op != Remove {
		i--
	}
	return i
}

// of is standing for a file.
func (s Store) of(path string, have []byte) ([]entry, error) {
	all, err := s.entries(path)
	return standing(all, digest(have)), err
}

// read calls f with the lock that keeps writers away.
func (s Store) read(f func() error) error {
	lock, err := s.lock(unix.LOCK_SH)
	if err != nil || lock == nil {
		return err
	}
	defer lock.Close()
	return f()
}

// Original returns what the file at path was before the first of the changes that
// it stands on, nil if it was not there; have is what it is now. It is not known
// if no change is kept, the last one took ours out, or somebody has put a backup
// back.
func (s Store) Original(path string, have []byte) (before []byte, known bool, err error) {
	err = s.read(func() error {
		stack, err := s.of(path, have)
		if i := first(stack); err == nil && i >= 0 {
			before, err = stack[i].content()
			known = err == nil
		}
		return err
	})
	return before, known, err
}

// Undo returns the same as Original, but only if nobody else has changed the file
// since: have is what our last change made, each before made the ground of the
// next, and none of them is missing.
func (s Store) Undo(path string, have []byte) (original []byte, known bool, err error) {
	err = s.read(func() error {
		stack, err := s.of(path, have)
		i, at := first(stack), digest(have)
		if err != nil || i < 0 {
			return err
		}
		for _, e := range slices.Backward(stack[i:]) {
			if e.After != at {
				return nil
			}
			at = e.Before
		}
		original, err = stack[i].content()
		known = err == nil
		return err
	})
	return original, known, err
}

// Rollback returns the changes that undo the last Apply that any of the files
// stands on; have are their contents now, nil for one that is not there. Applied
// as a Rollback they give way to the Apply before. ErrNone if there is none;
// atomicfile.ErrChanged if somebody else has changed one of the files since.
func (s Store) Rollback(have map[string][]byte) ([]Change, error) {
	var changes []Change
	err := s.read(func() error {
		last, tops := 0, map[string]entry{}
		for path, now := range have {
			stack, err := s.of(path, now)
			if err != nil {
				return err
			}
			if len(stack) > 0 {
				tops[path] = stack[len(stack)-1]
				last = max(last, tops[path].Number)
			}
		}
		for _, path := range slices.Sorted(maps.Keys(tops)) {
			top := tops[path]
			if top.Number != last {
				continue
			}
			if top.After != digest(have[path]) {
				return fmt.Errorf("undo change %d of %s: %w; what is kept of it is in %s", last, path, atomicfile.ErrChanged, top.dir)
			}
			before, err := top.content()
			if err != nil {
				return err
			}
			changes = append(changes, Change{path, have[path], before, top.meta().Mode})
		}
		return nil
	})
	if err == nil && len(changes) == 0 {
		err = ErrNone
	}
	return changes, err
}
