package procfs

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"golang.org/x/sys/unix"
)

// round is one look at all processes, which several sources share. It has two
// passes: the roster reads who is there, which is short whatever the processes do,
// and the descriptors read what they have open, which anybody can make long.
type round struct {
	proc     *Proc
	devices  holders.Devices
	progress atomic.Uint64
	first    sync.Once
	listed   roster
	second   sync.Once
	opened   opened
}

// roster returns the first pass, which the first caller makes.
func (r *round) roster(ctx context.Context, q usage.Question) *roster {
	r.first.Do(func() { r.listed = r.enlist(ctx, q) })
	return &r.listed
}

// descriptors returns the second pass, which the first caller makes.
func (r *round) descriptors(ctx context.Context, q usage.Question) *opened {
	list := r.roster(ctx, q)
	r.second.Do(func() { r.opened = r.walk(ctx, q, list) })
	return &r.opened
}

// openProc opens the directory of all processes; the caller closes it.
func (p *Proc) openProc() (int, error) {
	dir, err := openAt(unix.AT_FDCWD, p.dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", p.dir, err)
	}
	return dir, nil
}

// unfinished is the error of a pass that the context ended.
func unfinished(why string, cause error) error {
	return &unfinishedError{why, cause}
}

type unfinishedError struct {
	why   string
	cause error // of the context
}

func (e *unfinishedError) Error() string { return usage.ErrUnfinished.Error() + e.why }

func (e *unfinishedError) Unwrap() []error { return []error{usage.ErrUnfinished, e.cause} }

// incomplete is why a pass did not see everything, nil if it did: it ended early,
// or this user may not look into some processes.
func incomplete(err error, hidden bool, refused int) error {
	switch {
	case err != nil:
		return err
	case hidden:
		return refusal("processes of other users are hidden" + remedy())
	case refused == 1:
		return refusal("one process could not be inspected" + remedy())
	case refused > 1:
		return refusal(fmt.Sprintf("%d processes could not be inspected%s", refused, remedy()))
	}
	return nil
}

// refusal is an fs.ErrPermission in words.
type refusal string

func (e refusal) Error() string { return string(e) }

func (e refusal) Unwrap() error { return fs.ErrPermission }

// remedy ends a message of a user who was refused.
func remedy() string {
	if os.Geteuid() == 0 {
		return ""
	}
	return " (run as root to see them)"
}
