package mxmaca

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/payload"
)

// maxEntries bounds the files, directories and links of a payload; a real one has some ten thousand.
const maxEntries = 1 << 20

// tree is an installation that is copied: the directory of an image, and its path there.
type tree struct {
	from *os.Root
	path string
}

// size returns the bytes and the number of entries of a tree, which may have files, directories and links alone.
func (t tree) size(ctx context.Context, limit int64) (bytes, entries int64, err error) {
	err = t.each(ctx, func(name string, info fs.FileInfo) error {
		entries++
		switch {
		case info.Mode().IsRegular():
			if bytes += info.Size(); bytes > limit {
				return bad("%s of the image has more than %d bytes (maca.maxGiB)", t.path, limit)
			}
		case info.IsDir(), info.Mode()&fs.ModeSymlink != 0:
		default:
			return bad("%s of the image is neither a file, a directory nor a link", path.Join(t.path, name))
		}
		return nil
	})
	return bytes, entries, err
}

// limited is the file system of a tree that may have this many more entries.
type limited struct {
	fs.FS
	tree tree
	left int
}

// ReadDir is that of fs.ReadDirFS.
func (l *limited) ReadDir(dir string) ([]fs.DirEntry, error) {
	entries, err := payload.ReadDir(l.tree.from, dir, l.left+1)
	if l.left -= len(entries); err == nil && l.left < 0 {
		err = bad("%s of the image has more than %d files", l.tree.path, maxEntries)
	}
	return entries, err
}

func (t tree) each(ctx context.Context, do func(name string, info fs.FileInfo) error) error {
	return fs.WalkDir(&limited{t.from.FS(), t, maxEntries}, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return do(name, info)
	})
}

// copyTo copies a tree into an empty directory. The copies belong to this process's user; of the mode they have
// whether they can be executed. A file that grew is refused beyond the limit.
func (t tree) copyTo(ctx context.Context, to *os.Root, limit int64) error {
	return t.each(ctx, func(name string, info fs.FileInfo) error {
		switch {
		case name == ".":
			return nil
		case info.IsDir():
			return to.Mkdir(name, 0o755)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := t.from.Readlink(name)
			if err == nil {
				target, err = t.relative(name, target)
			}
			if err != nil {
				return err
			}
			return to.Symlink(target, name)
		}
		n, err := t.copyFile(to, name, info, limit)
		limit -= n
		return err
	})
}

func (t tree) copyFile(to *os.Root, name string, info fs.FileInfo, limit int64) (n int64, err error) {
	from, err := t.from.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	file, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(file, io.LimitReader(from, limit+1))
	if err == nil && n > limit {
		err = bad("%s of the image has more bytes than it said", t.path)
	}
	if err == nil && info.Mode()&0o111 != 0 {
		err = file.Chmod(0o755)
	}
	return n, errors.Join(err, file.Close())
}

// relative is the target of a link in a tree that will have another path. An absolute one has to lead into the tree.
func (t tree) relative(name, target string) (string, error) {
	if !path.IsAbs(target) {
		return target, nil
	}
	for _, dir := range []string{t.path, maca.Path} {
		if clean := path.Clean(target); clean == dir || strings.HasPrefix(clean, dir+"/") {
			return filepath.Rel(path.Dir(path.Join(dir, name)), clean)
		}
	}
	return "", bad("the link %s of the image leads out of it, to %.200q", path.Join(t.path, name), target)
}

// check fails if a link of a directory leads out of it, through whatever other links, or if something else than
// files, directories and links is there. A link that leads nowhere is harmless.
func check(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir(), entry.Type().IsRegular():
			return nil
		case entry.Type() != fs.ModeSymlink:
			return bad("%s of the payload is neither a file, a directory nor a link", name)
		}
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			target, _ := root.Readlink(name)
			return bad("the link %s of the payload does not stay inside: it leads to %.200q", name, target)
		}
		return nil
	})
}

// fits fails with NoSpace if a file system has not this much room. A tenth stays free: with less, the kubelet
// begins to evict pods.
func fits(dir string, bytes, entries int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("find the free space of %s: %w", dir, err)
	}
	return room(bytes+entries*st.Bsize, int64(st.Bavail)*st.Bsize, int64(st.Blocks)*st.Bsize)
}

func room(need, free, total int64) error {
	const GiB = 1 << 30
	if free-need >= total/10 {
		return nil
	}
	return &Error{NoSpace, fmt.Errorf("it needs %.1f GiB, of which %s has %.1f GiB free and keeps %.1f GiB; make room, or set maca.cleanupConfig",
		float64(need)/GiB, parent, float64(free)/GiB, float64(total/10)/GiB)}
}
