// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

const (
	// maxLinks is the maximum number of links on a path, as in the kernel.
	maxLinks = 40
	// maxSteps is the maximum number of components that are read for one path: a link
	// may have thousands.
	maxSteps = 200
)

// kind is the result of following a path.
type kind int

const (
	missing  kind = iota // there is no file
	circle               // endless links
	blocked              // a component is a file instead of a directory
	existing             // there is a file: see place.stat
)

// place is the end of a path.
type place struct {
	kind kind
	// path has no links in it. For a circle it is the link at which following stopped;
	// for blocked, the file in the way.
	path string
	stat Stat
	// links are the links on the path, by their own paths, in order.
	links []link
}

type link struct{ path, target string }

func (p place) isDir() bool  { return p.kind == existing && p.stat.Mode.IsDir() }
func (p place) isFile() bool { return p.kind == existing && p.stat.Mode.IsRegular() }

// walker follows paths in one image, and reads each path only once.
type walker struct {
	files Files
	known map[string]statResult
}

type statResult struct {
	stat Stat
	err  error
}

func newWalker(files Files) *walker { return &walker{files, map[string]statResult{}} }

func (w *walker) stat(ctx context.Context, name string) (Stat, error) {
	if k, ok := w.known[name]; ok {
		return k.stat, k.err
	}
	stat, err := w.files.Stat(ctx, name)
	w.known[name] = statResult{stat, err}
	return stat, err
}

// resolvePath returns where a path leads; "/" is the image's root, also for ".." above it.
// An error means that the path could not be read.
func (w *walker) resolvePath(ctx context.Context, name string) (place, error) {
	p := place{kind: existing, path: "/", stat: Stat{Mode: fs.ModeDir}}
	rest := hostfs.Elements(name)
	for steps := 0; len(rest) > 0; steps++ {
		next := path.Join(p.path, rest[0])
		up := rest[0] == ".."
		rest = rest[1:]
		if steps >= maxSteps {
			p.kind, p.path = circle, next
			return p, nil
		}
		if up { // a directory on the way
			p.path, p.stat = next, Stat{Mode: fs.ModeDir}
			continue
		}
		stat, err := w.stat(ctx, next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p.kind, p.path = missing, path.Join(next, path.Join(rest...))
			return p, nil
		case errors.Is(err, syscall.ELOOP):
			p.kind, p.path = circle, next
			return p, nil
		case errors.Is(err, syscall.ENOTDIR):
			p.kind, p.path = blocked, next
			return p, nil
		case err != nil:
			return place{}, err
		}
		if stat.Mode&fs.ModeSymlink != 0 {
			p.links = append(p.links, link{next, stat.Target})
			if len(p.links) > maxLinks {
				p.kind, p.path = circle, next
				return p, nil
			}
			if strings.HasPrefix(stat.Target, "/") {
				p.path, p.stat = "/", Stat{Mode: fs.ModeDir}
			}
			rest = append(hostfs.Elements(stat.Target), rest...)
			continue
		}
		p.path, p.stat = next, stat
		if len(rest) > 0 && !stat.Mode.IsDir() {
			p.kind = blocked
			return p, nil
		}
	}
	return p, nil
}

// isBelow reports whether a path is inside a directory, or the directory itself.
func isBelow(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}
