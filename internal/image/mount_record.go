// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// mountRecord is a locked file with the ID of the image that this toolkit has mounted.
// Podman counts the mounts of an image without their owners, so the toolkit mounts only
// one image at a time. A nil mountRecord records nothing.
type mountRecord struct{ file *os.File }

// maxNote is the maximum size in bytes; the content is one ID.
const maxNote = 128

// openRecord waits for the lock, and unmounts the image that a killed process has left
// mounted.
func (p Podman) openRecord(ctx context.Context) (*mountRecord, error) {
	if p.Dir == "" {
		return nil, nil
	}
	if err := atomicfile.MakeDir(p.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("record the mounted image: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(p.Dir, "podman-mounted"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK,
		0o600)
	if err != nil {
		return nil, fmt.Errorf("record the mounted image: %w", err)
	}
	n := &mountRecord{f}
	if err := n.lock(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for another inspection: %w", err), n.close())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxNote))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the record of the mounted image: %w", err), n.close())
	}
	if id := string(text); isID(id) {
		// If it fails, the image is no longer mounted or no longer exists.
		_, _ = p.Run(ctx, "image", "unmount", id)
	}
	return n, nil
}

// isID reports whether a text is an image's ID. Anything else in the file is not passed
// to podman.
func isID(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}

func (n *mountRecord) lock(ctx context.Context) error {
	for {
		err := unix.Flock(int(n.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// write replaces the record. An incomplete ID is not valid.
func (n *mountRecord) write(id string) error {
	if n == nil {
		return nil
	}
	if err := n.erase(); err != nil {
		return err
	}
	if _, err := n.file.WriteAt([]byte(id), 0); err != nil {
		return fmt.Errorf("record the mounted image: %w", err)
	}
	return nil
}

func (n *mountRecord) erase() error {
	if n == nil {
		return nil
	}
	if err := n.file.Truncate(0); err != nil {
		return fmt.Errorf("erase the record of the mounted image: %w", err)
	}
	return nil
}

// close releases the lock.
func (n *mountRecord) close() error {
	if n == nil {
		return nil
	}
	return n.file.Close()
}
