// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

const (
	// specLock is locked by the process that looks at the host to write its specs.
	specLock = "/run/metax-container-toolkit/cdi.lock"
	// stamp makes the refresh unit write the specs anew, as long as it is there. The
	// unit's udev rule also makes the file.
	stamp = "/run/metax-container-toolkit/refresh"
)

// lockSpecs lets one process at a time look at a host and write its specs. Without the
// lock each file would be whole, but the process that looked first could write last, and
// write what was true before. Closing the file, or the end of the process, releases the
// lock. It returns nil to a process that may not write the lock: that one writes
// elsewhere, or gets an error when it writes.
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
	//nolint:gosec // G304: the constant specLock, below the root of the host
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

// Request starts the refresh unit, if there is one, because the specs of the host are out
// of date. It does not matter if it fails: the command that changed the host prints what
// to run next.
func Request(host *hostfs.Root) {
	if path, err := host.Place(stamp); err == nil {
		_, _ = atomicfile.Write(path, nil, atomicfile.Options{Perm: 0o644})
	}
}
