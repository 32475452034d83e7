package driver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/payload"
)

// Limits of a payload: of a stranger's image nothing else is known.
const (
	maxFiles = 20000
	maxBytes = 4 << 30
	maxDepth = 32
)

// copier copies files of a payload. It follows no link, and takes no devices, sockets and pipes.
type copier struct {
	from, to *os.Root
	files    int
	bytes    int64
	want     func(file string) bool // nil: every file
}

func newCopier(from, to *os.Root) *copier {
	return &copier{from: from, to: to, files: maxFiles, bytes: maxBytes}
}

// tree copies the directory dir, whose links must stay below it, to the directory at.
func (c *copier) tree(dir, at string) error { return c.directory(dir, dir, at, maxDepth) }

func (c *copier) directory(top, dir, at string, depth int) error {
	if depth == 0 {
		return fmt.Errorf("/%s is more than %d directories deep", dir, maxDepth)
	}
	entries, err := payload.ReadDir(c.from, dir, c.files+1)
	if err != nil {
		return err
	}
	if c.files -= len(entries); c.files < 0 {
		return fmt.Errorf("the image has more than %d files of a driver", maxFiles)
	}
	if err := c.to.MkdirAll(at, 0o755); err != nil {
		return err
	}
	for _, entry := range entries {
		name, to := path.Join(dir, entry.Name()), path.Join(at, entry.Name())
		switch {
		case entry.IsDir():
			err = c.directory(top, name, to, depth-1)
		case c.want != nil && (!entry.Type().IsRegular() || !c.want(name)):
		case entry.Type().IsRegular():
			err = c.file(name, to)
		case entry.Type()&fs.ModeSymlink != 0:
			err = c.link(top, name, to)
		default:
			err = fmt.Errorf("/%s is neither a file nor a directory", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) file(name, to string) (err error) {
	in, err := c.from.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("/%s is not a file any more", name)
	}
	perm := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 {
		perm = 0o755
	}
	out, err := c.to.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	n, err := io.Copy(out, io.LimitReader(in, c.bytes+1))
	if c.bytes -= n; err == nil && c.bytes < 0 {
		err = fmt.Errorf("the image has more than %d GiB of a driver", maxBytes>>30)
	}
	if err != nil {
		return err
	}
	return out.Chmod(perm)
}

// link copies a link that leads to a place below top, as it is.
func (c *copier) link(top, name, to string) error {
	target, err := c.from.Readlink(name)
	if err != nil {
		return err
	}
	if path.IsAbs(target) || !strings.HasPrefix(path.Join(path.Dir(name), target)+"/", top+"/") {
		return fmt.Errorf("/%s is a link to %.80q, which is not below /%s", name, target, top)
	}
	return c.to.Symlink(target, to)
}
