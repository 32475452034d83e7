package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// Dir is where the toolkit keeps its backups.
const Dir = "/var/lib/metax-container-toolkit/backups"

// Keep is how many changes are kept for each file. The oldest goes first, but
// never the one that has the original.
const Keep = 10

// maxFile is the size in bytes beyond which a file is no configuration.
const maxFile = 16 << 20

// ErrNone reports that there is no change to undo.
var ErrNone = errors.New("no change is kept that could be undone")

// Change is what becomes of one configuration file. An engine.Change converts to
// it.
type Change struct {
	Path string
	// Before and After are the contents; nil means that there is no file.
	Before, After []byte
	// Mode is for a file that is made; one that is there keeps its own.
	Mode fs.FileMode
}

// Op is what an Apply is for.
type Op string

// The operations. Where an Apply begins, nothing of ours is in the files: what they
// are then is their original, until they are removed from.
const (
	Begin     Op = "begin"
	Configure Op = "configure"
	Remove    Op = "remove"
	Rollback  Op = "rollback"
)

// Store keeps what files were before they were changed.
type Store struct{ dir string }

// New returns the store in a directory, which need not be there. A method that
// reads does not make it.
func New(dir string) Store { return Store{dir} }

// lock takes the lock, shared or alone. It is given back by closing the file, which
// is nil if there is nothing to read.
func (s Store) lock(how int) (*os.File, error) {
	flags := os.O_RDONLY
	if how == unix.LOCK_EX {
		if err := atomicfile.MakeDir(s.dir, 0o700); err != nil {
			return nil, fmt.Errorf("keep backups: %w", err)
		}
		flags = os.O_RDWR | os.O_CREATE
	}
	return s.flock(".lock", flags, how)
}

// Turn waits until nobody else has the turn, and takes it: whoever works changes out
// of what the files are, and applies them, does both while he has it. Of two who do
// not, one may undo what the other has not done yet. It is given back by release.
func (s Store) Turn() (release func(), err error) {
	if err := atomicfile.MakeDir(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep backups: %w", err)
	}
	f, err := s.flock(".turn", os.O_RDWR|os.O_CREATE, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil // nothing is written to it
}

// flock opens a file of the store and locks it.
func (s Store) flock(name string, flags, how int) (*os.File, error) {
	if err := s.safe(); errors.Is(err, fs.ErrNotExist) && how != unix.LOCK_EX {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, name), flags|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrNotExist) && how != unix.LOCK_EX {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("lock backups: %w", err)
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		} else if !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
	}
}

// safe checks that nobody else can plant a backup.
func (s Store) safe() error {
	info, err := os.Lstat(s.dir)
	if err != nil {
		return fmt.Errorf("keep backups: %w", err)
	}
	switch owner := info.Sys().(*syscall.Stat_t).Uid; {
	case !info.IsDir():
		return fmt.Errorf("keep backups: %s is not a directory", s.dir)
	case owner != 0 && int(owner) != os.Geteuid():
		return fmt.Errorf("keep backups: %s belongs to user %d, neither to root nor to you", s.dir, owner)
	case info.Mode()&0o022 != 0:
		return fmt.Errorf("keep backups: others can write %s: chmod go-w %s", s.dir, s.dir)
	}
	return nil
}
