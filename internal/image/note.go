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

// note is a locked file that says which image we have had mounted. Podman counts
// the mounts of an image and does not say whose they are, so that there is one of
// ours at a time. A nil note notes nothing.
type note struct{ file *os.File }

// maxNote bounds a note in bytes; it is one ID.
const maxNote = 128

// note waits for its turn, and unmounts what a killed process has left.
func (p Podman) note(ctx context.Context) (*note, error) {
	if p.Dir == "" {
		return nil, nil
	}
	if err := atomicfile.MakeDir(p.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("note what is mounted: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(p.Dir, "podman-mounted"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("note what is mounted: %w", err)
	}
	n := &note{f}
	if err := n.lock(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for another look into an image: %w", err), n.close())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxNote))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read what is mounted: %w", err), n.close())
	}
	if id := string(text); isID(id) {
		// What fails is not mounted any more, or the image is gone.
		_, _ = p.Run(ctx, "image", "unmount", id)
	}
	return n, nil
}

// isID tells an image's ID, so that a note of somebody else's is no command.
func isID(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}

func (n *note) lock(ctx context.Context) error {
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

// write replaces the note. A part of one is none.
func (n *note) write(id string) error {
	if n == nil {
		return nil
	}
	if err := n.erase(); err != nil {
		return err
	}
	if _, err := n.file.WriteAt([]byte(id), 0); err != nil {
		return fmt.Errorf("note what is mounted: %w", err)
	}
	return nil
}

func (n *note) erase() error {
	if n == nil {
		return nil
	}
	if err := n.file.Truncate(0); err != nil {
		return fmt.Errorf("erase the note of what is mounted: %w", err)
	}
	return nil
}

// close lets the next one have it.
func (n *note) close() error {
	if n == nil {
		return nil
	}
	return n.file.Close()
}
