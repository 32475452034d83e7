package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

const (
	// specLock is held by whoever looks at the host to write its specs.
	specLock = "/run/metax-container-toolkit/cdi.lock"
	// stamp asks the refresh unit to make the specs anew, as long as it is there.
	// Its udev rule makes the file, too.
	stamp = "/run/metax-container-toolkit/refresh"
)

// lockSpecs lets one process at a time look at a host and write its specs. A file
// would be whole without it, but who looked first could write last, and leave the
// host as it was before. Closing the file, or the end of the process, gives the lock
// back. Who may not have it writes elsewhere, or is told so when it writes: nil.
func lockSpecs(ctx context.Context, host *hostfs.Root) (*os.File, error) {
	path, err := host.Place(specLock)
	if err == nil {
		err = atomicfile.MakeDir(filepath.Dir(path), 0o755)
	}
	if unwritable(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if unwritable(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("open the lock of CDI specs: %w", err)
	}
	locked := make(chan error, 1)
	go func() {
		err := error(unix.EINTR)
		for errors.Is(err, unix.EINTR) {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		locked <- err
	}()
	select {
	case err = <-locked:
	case <-ctx.Done():
		// The thread that waits cannot be called back; this process is at its end.
		return nil, ctx.Err()
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS)
}

// askRefresh tells the refresh unit, if there is one, that the specs of the host are
// not true any more. No unit, or a host that cannot be written, is no failure:
// whoever changed the host is told what to do next in any case.
func (t toolkit) askRefresh(c *cli.Context) {
	host, err := hostfs.New(t.where(c).Root)
	if err != nil {
		return
	}
	if path, err := host.Place(stamp); err == nil {
		_, _ = atomicfile.Write(path, nil, atomicfile.Options{Perm: 0o644})
	}
}
