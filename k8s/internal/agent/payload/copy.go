// SPDX-License-Identifier: Apache-2.0

package payload

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
)

// Tree is a directory of an image that is copied. It may have files, directories and links
// alone.
type Tree struct {
	From *os.Root // of the directory
	Path string   // of the directory in the image
	// Alias is another path that leads to it in the image, or empty. A link to an absolute
	// path has to begin with one of both.
	Alias string
	// Want chooses files by their paths in the tree; nothing else is copied then. It is nil
	// for everything.
	Want func(name string) bool
	To   *os.Root // of an empty directory
}

// Limit bounds what is copied of an image.
type Limit struct {
	Bytes   int64
	Entries int    // files, directories and links
	Option  string // of the user, for Bytes; or empty
	// Fits fails if there is no room for a copy; it may be nil.
	Fits func(bytes, entries int64) error
}

// maxDepth is how many directories of a payload can lie in one another.
const maxDepth = 64

// Invalid is why an image is not taken.
type Invalid string

func (i Invalid) Error() string { return string(i) }

func invalid(format string, args ...any) error { return Invalid(fmt.Sprintf(format, args...)) }

// Copy copies trees of an image. It reads their names and sizes first, so that nothing is
// written of trees that are too large or have what no payload has. The copies belong to this
// process's user; of the mode they have whether they can be executed. A link is copied if it
// stays in its tree, through whatever other links; one that leads nowhere is harmless. An
// Invalid is an error of the image.
func Copy(ctx context.Context, limit Limit, trees ...Tree) error {
	sizes := make([]size, len(trees))
	var all size
	for i, t := range trees {
		var err error
		if sizes[i], err = t.size(ctx, limit, all); err != nil {
			return err
		}
		all.bytes, all.entries = all.bytes+sizes[i].bytes, all.entries+sizes[i].entries
	}
	if limit.Fits != nil {
		if err := limit.Fits(all.bytes, int64(all.entries)); err != nil {
			return err
		}
	}
	for i, t := range trees {
		if err := t.copy(ctx, sizes[i]); err != nil {
			return err
		}
		if err := Check(t.To); err != nil {
			return err
		}
	}
	return nil
}

type size struct {
	bytes   int64
	entries int
}

// size returns that of a tree, which is within a limit with what comes before it.
func (t Tree) size(ctx context.Context, limit Limit, before size) (s size, err error) {
	err = t.each(ctx, limit.Entries-before.entries, func(name string, info fs.FileInfo) error {
		if name != "." {
			s.entries++
		}
		switch {
		case !t.wants(name, info): // not copied
		case info.Mode().IsRegular():
			if s.bytes += info.Size(); s.bytes > limit.Bytes-before.bytes {
				option := ""
				if limit.Option != "" {
					option = " (" + limit.Option + ")"
				}
				return invalid("%s of the image has more than %d bytes%s", t.Path, limit.Bytes, option)
			}
		case info.IsDir(), info.Mode()&fs.ModeSymlink != 0: // they have no bytes
		default:
			return invalid("%s of the image is neither a file, a directory nor a link", path.Join(t.Path, name))
		}
		return nil
	})
	return s, err
}

func (t Tree) wants(name string, info fs.FileInfo) bool {
	return t.Want == nil || (info.Mode().IsRegular() && t.Want(name))
}

// limited is the file system of a tree that may have this many more entries.
type limited struct {
	fs.FS
	tree       Tree
	most, left int
}

// ReadDir is that of fs.ReadDirFS.
func (l *limited) ReadDir(dir string) ([]fs.DirEntry, error) {
	entries, err := readDir(l.tree.From, dir, l.left+1)
	if l.left -= len(entries); err == nil && l.left < 0 {
		err = invalid("%s of the image has more than %d files", l.tree.Path, l.most)
	}
	return entries, err
}

func (t Tree) each(ctx context.Context, entries int, do func(name string, info fs.FileInfo) error) error {
	return fs.WalkDir(&limited{FS: t.From.FS(), tree: t, most: entries, left: entries}, ".",
		func(name string, entry fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			if strings.Count(name, "/") > maxDepth {
				return invalid("%s of the image is more than %d directories deep", t.Path, maxDepth)
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			return do(name, info)
		})
}

// copy copies a tree of this size. Files that grew since are refused.
func (t Tree) copy(ctx context.Context, s size) error {
	return t.each(ctx, s.entries, func(name string, info fs.FileInfo) error {
		switch {
		case name == "." || !t.wants(name, info):
			return nil
		case info.IsDir():
			return t.To.Mkdir(name, 0o755)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := t.From.Readlink(name)
			if err == nil {
				target, err = t.relative(name, target)
			}
			if err != nil {
				return err
			}
			return t.To.Symlink(target, name)
		}
		if t.Want != nil { // else it is there
			if err := t.To.MkdirAll(path.Dir(name), 0o755); err != nil {
				return err
			}
		}
		n, err := t.copyFile(name, s.bytes)
		s.bytes -= n
		return err
	})
}

func (t Tree) copyFile(name string, limit int64) (n int64, err error) {
	from, err := t.From.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, invalid("%s of the image is not a file any more", path.Join(t.Path, name))
	}
	perm := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 {
		perm = 0o755
	}
	file, err := t.To.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(file, io.LimitReader(from, limit+1))
	if err == nil && n > limit {
		err = invalid("%s of the image has more bytes than it said", t.Path)
	}
	if err == nil {
		err = file.Chmod(perm)
	}
	return n, errors.Join(err, file.Close())
}

// relative is the target of a link in a tree that will have another path. An absolute one has
// to lead into the tree.
func (t Tree) relative(name, target string) (string, error) {
	if !path.IsAbs(target) {
		return target, nil
	}
	for _, dir := range []string{t.Path, t.Alias} {
		if clean := path.Clean(target); dir != "" && (clean == dir || strings.HasPrefix(clean, dir+"/")) {
			return filepath.Rel(path.Dir(path.Join(dir, name)), clean)
		}
	}
	return "", invalid("the link %s of the image leads out of it, to %.200q", path.Join(t.Path, name), target)
}

// Check fails if a link of a copy leads out of it, through whatever other links, or if
// something else than files, directories and links is there.
func Check(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir(), entry.Type().IsRegular():
			return nil
		case entry.Type() != fs.ModeSymlink:
			return invalid("%s of the payload is neither a file, a directory nor a link", name)
		}
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			target, _ := root.Readlink(name)
			return invalid("the link %s of the payload does not stay inside: it leads to %.200q", name, target)
		}
		return nil
	})
}
