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
	// cachePath is the usual cache of glibc's dynamic linker, and confDir is beside it.
	cachePath = "/etc/ld.so.cache"
	confDir   = "ld.so.conf.d"
	// confName sorts before what images have, so that the folders' libraries are
	// found before others of the same name; it is fixed, so that a container that
	// starts again has one.
	confName = "00-metax.conf"
	// maxCache is far above the cache of a full desktop (some hundred KiB).
	maxCache = 16 << 20
	// patience is how long ldconfig may take; it needs milliseconds.
	patience = 10 * time.Second
)

var (
	// ErrNoLoader reports a container without a dynamic linker for glibc's programs:
	// musl alone, or static programs only.
	ErrNoLoader = errors.New("the container has no dynamic linker of glibc")
	// ErrNoLdconfig reports a host whose ldconfig cannot be used.
	ErrNoLdconfig = errors.New("the host has no static ldconfig of root's")
	// ErrOldKernel reports a kernel without mount_setattr (before 5.12).
	ErrOldKernel = errors.New("the kernel cannot show a container's files read-only (Linux 5.12 can)")
)

// Program is ldconfig, ready to be executed by the calling thread, which is the
// only one that stands where the paths lead to the right files.
type Program struct {
	Path   string
	Args   []string // with the program's own name first; the environment is empty
	Output *os.File // for all three standard files
	Within time.Duration
}

// Update puts the libraries of the given folders, as far as the container has
// them, and of those that its own configuration names, into its cache: that of
// each dynamic linker of glibc that it has. Where programs for glibc are served by
// musl, which has no cache, the folders go to the end of its search path. execute
// starts a program as a child of the calling thread and waits for it; warn is
// told of configuration that is left out.
//
// So a program finds a library in this order: the RPATH or RUNPATH that it was
// built with, and the LD_LIBRARY_PATH of the image or of whoever starts it, as the
// linker weighs them; the folders, in the order given; the directories of the
// image's ld.so.conf; those that are part of the linker, such as /usr/lib64. A
// library that the image has in /usr/lib too is the folders' one, and the image's
// own by LD_LIBRARY_PATH. With musl it is the image's own in any case.
func Update(root *inroot.Root, folders []string, execute func(Program) error, warn func(string)) error {
	for _, folder := range folders {
		if err := ldconf.Check(folder); err != nil {
			return err
		}
	}
	caches, paths := linkers(root)
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
		if err := extend(root, name, present, warn); err != nil {
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
		cache, err := build(root, ldconfig, slices.Concat(present, directories, builtIn(root, name)), execute)
		if err != nil {
			return err
		}
		err = write(root.OneMount(), name, present, cache)
		if name != cachePath && errors.Is(err, inroot.ErrOtherMount) {
			warn(err.Error()) // a linker on a volume, which keeps its cache there
		} else if err != nil {
			return err
		}
	}
	return nil
}

// write puts the result into the container, as the cache of this name. The file in
// ld.so.conf.d is for an ldconfig that somebody runs there later.
func write(root *inroot.Root, name string, folders []string, cache []byte) error {
	etc := path.Dir(name)
	if len(folders) > 0 {
		if err := put(root, path.Join(etc, confDir, confName), []byte(strings.Join(folders, "\n")+"\n")); err != nil {
			return err
		}
	}
	return put(root, name, cache)
}

// put writes a file, in a directory that is made if need be.
func put(root *inroot.Root, name string, data []byte) error {
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

// isCache tells a cache, of glibc's old or new format, from anything else.
func isCache(data []byte) bool {
	return bytes.HasPrefix(data, []byte("glibc-ld.so.cache1.1")) || bytes.HasPrefix(data, []byte("ld.so-1.7.0"))
}
