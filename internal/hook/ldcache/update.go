package ldcache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

const (
	cachePath = "/etc/ld.so.cache"
	confDir   = "/etc/ld.so.conf.d"
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
	// ErrNoLoader reports a container without glibc's dynamic linker, which alone
	// reads the cache: musl, or static programs only.
	ErrNoLoader = errors.New("the container has no dynamic linker of glibc")
	// ErrNoLdconfig reports a host whose ldconfig cannot be used.
	ErrNoLdconfig = errors.New("the host has no static ldconfig of root's")
	// ErrOldKernel reports a kernel without mount_setattr (before 5.12).
	ErrOldKernel = errors.New("the kernel cannot show a container's files read-only (Linux 5.12 can)")
	// ErrMalformed reports a folder that ld.so.conf cannot name.
	ErrMalformed = errors.New("malformed folder")
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
// them, and of those that its own configuration names, into its cache. execute
// starts a program as a child of the calling thread and waits for it; warn is
// told of configuration that is left out.
func Update(root *inroot.Root, folders []string, execute func(Program) error, warn func(string)) error {
	for _, folder := range folders {
		if err := checkFolder(folder); err != nil {
			return err
		}
	}
	if !hasLoader(root) {
		return ErrNoLoader
	}
	ldconfig, err := hostLdconfig("/")
	if err != nil {
		return err
	}
	defer ldconfig.Close()
	var present []string
	for _, folder := range folders {
		if info, err := root.Stat(folder); err == nil && info.IsDir() {
			present = append(present, folder)
		}
	}
	directories, err := configured(root, warn)
	if err != nil {
		return err
	}
	cache, err := build(root, ldconfig, append(present[:len(present):len(present)], directories...), execute)
	if err != nil {
		return err
	}
	return write(root.OneMount(), present, cache)
}

func checkFolder(folder string) error {
	odd := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '#' || r == '=' }
	if !path.IsAbs(folder) || path.Clean(folder) != folder || strings.ContainsFunc(folder, odd) || len(folder) >= unix.PathMax {
		return fmt.Errorf(`%w %q: want an absolute, clean path without spaces, "#" and "="`, ErrMalformed, folder)
	}
	return nil
}

// loaders are the names that programs have for glibc's dynamic linker.
var loaders = []string{
	"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib64/ld-linux-loongarch-lp64d.so.1",
	"/lib/ld-linux-riscv64-lp64d.so.1", "/lib64/ld64.so.2", "/lib/ld64.so.1", "/lib/ld-linux.so.2",
}

func hasLoader(root *inroot.Root) bool {
	for _, loader := range loaders {
		if info, err := root.Stat(loader); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// write puts the result into the container. The file in ld.so.conf.d is for an
// ldconfig that somebody runs there later.
func write(root *inroot.Root, folders []string, cache []byte) error {
	if len(folders) > 0 {
		dir, err := root.MkdirAll(confDir, 0o755)
		if err != nil {
			return err
		}
		below := inroot.At(dir).OneMount()
		defer below.Close()
		if _, err := below.Replace(confName, []byte(strings.Join(folders, "\n")+"\n"), 0o644); err != nil {
			return fmt.Errorf("in %s: %w", confDir, err)
		}
	}
	dir, err := root.MkdirAll(path.Dir(cachePath), 0o755)
	if err != nil {
		return err
	}
	below := inroot.At(dir).OneMount()
	defer below.Close()
	if _, err := below.Replace(path.Base(cachePath), cache, 0o644); err != nil {
		return fmt.Errorf("in %s: %w", path.Dir(cachePath), err)
	}
	return nil
}

// isCache tells a cache, of glibc's old or new format, from anything else.
func isCache(data []byte) bool {
	return bytes.HasPrefix(data, []byte("glibc-ld.so.cache1.1")) || bytes.HasPrefix(data, []byte("ld.so-1.7.0"))
}
