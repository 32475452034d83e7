// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/ldconf"
)

const (
	// cachePath is the usual cache of glibc's dynamic linker; confDir is in its
	// directory.
	cachePath = "/etc/ld.so.cache"
	confDir   = "ld.so.conf.d"
	// confName sorts before the files of images, so that the folders' libraries are
	// found before others of the same name. It never changes, so that a container that
	// starts again has only one such file.
	confName = "00-metax.conf"
	// maxCache is the largest cache accepted, in bytes; that of a full desktop has some
	// hundred KiB.
	maxCache = 16 << 20
	// timeout is how long ldconfig may take; it needs milliseconds.
	timeout = 10 * time.Second
)

var (
	// ErrNoLoader reports a container without a dynamic linker for programs of glibc:
	// it has only musl, or only static programs.
	ErrNoLoader = errors.New("the container has no dynamic linker of glibc")
	// ErrNoLdconfig reports a host whose ldconfig cannot be used.
	ErrNoLdconfig = errors.New("the host has no static ldconfig that only root can change")
)

// Program is ldconfig with its arguments. Only the calling thread may start it, because
// only there the paths lead to the right files.
type Program struct {
	Path    string
	Args    []string // with the program's own name first; the environment is empty
	Output  *os.File // for all three standard files
	Timeout time.Duration
}

// Update adds libraries to the container's caches, one for each dynamic linker of
// glibc: those of the given folders that the container has, and of the directories that
// its own configuration names. Where musl, which has no cache, links programs for
// glibc, Update appends the folders to its search path. execute starts a program as a
// child of the calling thread and waits for it; warn gets a message for each part of
// the configuration that is ignored.
//
// A program then looks for a library in this order: its own RPATH or RUNPATH and
// LD_LIBRARY_PATH, in the linker's order; the folders, in the order given; the
// directories of the image's ld.so.conf; those built into the linker, such as
// /usr/lib64. So a library of the folders wins over one in the image's /usr/lib, unless
// LD_LIBRARY_PATH names that. With musl the image's own library always wins.
func Update(root *inroot.Root, folders []string, execute func(Program) error, warn func(string)) error {
	for _, folder := range folders {
		if err := ldconf.Check(folder); err != nil {
			return err
		}
	}
	caches, paths := findLinkers(root)
	if len(caches)+len(paths) == 0 {
		return ErrNoLoader
	}
	var present []string
	for _, folder := range folders {
		if info, err := root.Stat(folder); err == nil && info.IsDir() {
			present = append(present, folder)
		}
	}
	for _, name := range paths {
		if err := extendMuslPath(root, name, present, warn); err != nil {
			return err
		}
	}
	if len(caches) == 0 {
		return nil
	}
	ldconfig, err := hostLdconfig("/")
	if err != nil {
		return err
	}
	defer ldconfig.Close()
	for _, name := range caches {
		etc := path.Dir(name)
		directories, err := ldconf.Directories(root, path.Join(etc, "ld.so.conf"), path.Join(etc, confDir, confName), warn)
		if err != nil {
			return fmt.Errorf("read the container's %s: %w", path.Join(etc, "ld.so.conf"), err)
		}
		cache, err := buildCache(root, ldconfig, slices.Concat(present, directories, builtInDirs(root, name)), execute)
		if err != nil {
			return err
		}
		err = writeCache(root.OneMount(), name, present, cache)
		if name != cachePath && errors.Is(err, inroot.ErrOtherMount) {
			warn(err.Error()) // the linker is on a volume, and so is its cache
		} else if err != nil {
			return err
		}
	}
	return nil
}

// writeCache writes the result into the container as the cache of this name. The file
// in ld.so.conf.d is for an ldconfig that somebody runs there later.
func writeCache(root *inroot.Root, name string, folders []string, cache []byte) error {
	etc := path.Dir(name)
	if len(folders) > 0 {
		if err := writeFile(root, path.Join(etc, confDir, confName), []byte(strings.Join(folders, "\n")+"\n")); err != nil {
			return err
		}
	}
	return writeFile(root, name, cache)
}

// writeFile writes a file and makes its directory if it is missing.
func writeFile(root *inroot.Root, name string, data []byte) error {
	dir, err := root.MkdirAll(path.Dir(name), 0o755)
	if err != nil {
		return err
	}
	below := inroot.At(dir).OneMount()
	defer below.Close()
	if _, err := below.Replace(path.Base(name), data, 0o644); err != nil {
		return fmt.Errorf("in %s: %w", path.Dir(name), err)
	}
	return nil
}

// isCache reports whether data is a cache in glibc's old or new format.
func isCache(data []byte) bool {
	return bytes.HasPrefix(data, []byte("glibc-ld.so.cache1.1")) || bytes.HasPrefix(data, []byte("ld.so-1.7.0"))
}
