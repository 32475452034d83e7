// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/lease"
)

// Ledger is the state file in its directory. It is a lease.Store.
type Ledger struct {
	// DefaultGID is the group that root gives a directory which Update has to make,
	// -1 for none.
	DefaultGID int
	// Guest does not make or finish the directory: a program in a container does not know the
	// group.
	Guest bool

	dir         string
	boot        string
	lockTimeout time.Duration
}

var _ lease.Store = (*Ledger)(nil)

// New returns the ledger in dir. A state of another boot counts as none.
func New(dir, boot string) *Ledger {
	return &Ledger{DefaultGID: -1, dir: filepath.Clean(dir), boot: boot, lockTimeout: LockTimeout}
}

// Path returns the path of the state file.
func (l *Ledger) Path() string { return filepath.Join(l.dir, stateName) }

// Read returns the state as it was last written, or a new one if the file is missing, of
// another boot, or damaged; State.Lost is set if it is damaged. Errors are *UnsafeError,
// *NewerError, and those of the file system.
func (l *Ledger) Read() (lease.State, error) {
	dir, _, err := l.safeDir()
	if errors.Is(err, fs.ErrNotExist) {
		return lease.NewState(l.boot), nil
	} else if err != nil {
		return lease.State{}, l.explainError("read leases", err)
	}
	defer dir.Close()
	r, err := l.read(dir)
	if err != nil {
		return lease.State{}, l.explainError("read leases", err)
	}
	return r.state, nil
}

// read returns the state in the directory.
func (l *Ledger) read(dir *os.File) (record, error) {
	data, err := readState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return record{state: lease.NewState(l.boot)}, nil
	}
	var r record
	if err == nil {
		r, err = decodeState(data, l.boot)
	}
	var damaged damage
	var newer *NewerError
	switch {
	case errors.As(err, &damaged):
		r = record{state: lease.NewState(l.boot)}
		r.state.Lost = stateName + " is damaged: " + damaged.Error()
		return r, nil
	case errors.As(err, &newer):
		newer.Path = l.Path()
	}
	return r, err
}

// Update calls change under the lock of all writers, and then writes the state. If change
// fails or changes nothing, it writes nothing. It returns the error of change as it is.
// Other errors are *LockError after LockTimeout or when the context ends, *InitError,
// those of Read, and those of the file system.
func (l *Ledger) Update(ctx context.Context, change func(*lease.State) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, err := l.prepared()
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := l.lockForWriting(ctx, dir)
	if err != nil {
		return l.explainError("change leases", err)
	}
	defer lock.Close()
	r, err := l.read(dir)
	if err != nil {
		return l.explainError("change leases", err)
	}
	damaged := r.state.Lost != ""
	if err := change(&r.state); err != nil {
		return err
	}
	data, err := r.encodeState(l.boot)
	if err != nil {
		return fmt.Errorf("change leases: %w", err)
	}
	if bytes.Equal(data, r.data) {
		return nil
	}
	if err := l.write(dir, data, damaged); err != nil {
		return l.explainError("change leases", err)
	}
	return nil
}

// prepared opens the directory, and makes or finishes it if needed.
func (l *Ledger) prepared() (*os.File, error) {
	dir, stat, err := l.safeDir()
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil && (stat.Mode&unix.S_ISGID != 0 || os.Geteuid() != 0 || l.Guest):
		return dir, nil
	case err == nil: // its Init was interrupted
		dir.Close()
	case !missing || l.Guest:
		return nil, l.explainError("change leases", err)
	}
	if err := l.initializeDir(l.DefaultGID); missing && errors.Is(err, fs.ErrPermission) {
		return nil, &InitError{l.dir, err}
	} else if err != nil {
		return nil, l.explainError("make "+l.dir, err)
	}
	if dir, _, err = l.safeDir(); err != nil {
		return nil, l.explainError("change leases", err)
	}
	return dir, nil
}

// write replaces the state file. It exchanges a damaged one with the new one, so that there
// is always a file: without one it would look as after a boot.
func (l *Ledger) write(dir *os.File, data []byte, damaged bool) error {
	if err := sweep(dir); err != nil {
		return err
	}
	if !damaged {
		_, err := atomicfile.Write(l.Path(), data, atomicfile.Options{Perm: stateMode})
		return err
	}
	aside := filepath.Join(l.dir, damagedName)
	if _, err := atomicfile.Write(aside, data, atomicfile.Options{Perm: stateMode}); err != nil {
		return err
	}
	at := int(dir.Fd())
	if err := unix.Renameat2(at, damagedName, at, stateName, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("set aside %s: %w", l.Path(), err)
	}
	return nil
}

// sweep removes temporary files of writers that were killed. It needs the lock, so that no
// other writer works at the same time.
func sweep(dir *os.File) error {
	list, err := openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|safeOpenFlags, 0)
	if err != nil {
		return err
	}
	defer list.Close()
	names, err := list.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !atomicfile.IsTemporary(name, stateName) {
			continue
		}
		if err := unix.Unlinkat(int(dir.Fd()), name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &fs.PathError{Op: "remove", Path: filepath.Join(dir.Name(), name), Err: err}
		}
	}
	return nil
}
