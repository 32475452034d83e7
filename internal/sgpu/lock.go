// SPDX-License-Identifier: Apache-2.0

package sgpu

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// lockRetry is how often a lock that another process has is tried again.
const lockRetry = 20 * time.Millisecond

// withSliceLock calls change while no other process of the toolkit changes slices of this
// host. The vendor's library makes a slice in two steps and guesses its number before, so that
// two creators at once change each other's slice. The lock is on the library's or mx-smi's
// file, because that is what the host and the containers of the cluster both have. It fails if
// the lock is not free within the timeout.
func withSliceLock(ctx context.Context, host *hostfs.Root, file string, change func() error) error {
	f, err := host.Open(file)
	if err != nil {
		return fmt.Errorf("lock the slices of this host: %w", err)
	}
	defer f.Close() // releases the lock
	wait, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return change()
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("lock the slices of this host: %s: %w", f.Name(), err)
		}
		select {
		case <-time.After(lockRetry):
		case <-wait.Done():
			return fmt.Errorf("lock the slices of this host: another program changes slices (fuser %s): %w", f.Name(),
				context.Cause(wait))
		}
	}
}
