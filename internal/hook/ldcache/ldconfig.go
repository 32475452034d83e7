// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// ldconfigPaths are where hosts have ldconfig. On Ubuntu the usual name is a script and
// ".real" is the program.
var ldconfigPaths = []string{
	"/sbin/ldconfig.real", "/sbin/ldconfig", "/usr/sbin/ldconfig.real", "/usr/sbin/ldconfig",
	"/usr/bin/ldconfig", "/run/current-system/sw/bin/ldconfig",
}

// hostLdconfig opens the host's ldconfig: a static program that only root can have
// written. It trusts the host's own links.
func hostLdconfig(host string) (*os.File, error) {
	for _, path := range ldconfigPaths {
		//nolint:gosec // G304: one of ldconfigPaths; used only if it is root's
		f, err := os.OpenFile(filepath.Join(host, path), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if isRootOwned(f) && isStatic(f) {
			return f, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("%w (looked at %q)", ErrNoLdconfig, ldconfigPaths)
}

func isRootOwned(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && hostfs.IsRoot(st.Uid)
}

// isStatic reports whether a file is a 64-bit program of this machine's byte order that
// needs no dynamic linker. It reads the headers itself because debug/elf's reader would
// double the size of the hook.
func isStatic(f *os.File) bool {
	var header elf.Header64
	order := binary.NativeEndian
	read := func(into any, at int64) bool {
		buf := make([]byte, binary.Size(into))
		_, err := f.ReadAt(buf, at)
		return err == nil && binary.Read(bytes.NewReader(buf), order, into) == nil
	}
	if !read(&header, 0) || !bytes.HasPrefix(header.Ident[:], []byte(elf.ELFMAG)) ||
		header.Ident[elf.EI_CLASS] != byte(elf.ELFCLASS64) {
		return false
	}
	for i := range int64(header.Phnum) {
		var program elf.Prog64
		if !read(&program, int64(header.Phoff)+i*int64(header.Phentsize)) || program.Type == uint32(elf.PT_INTERP) {
			return false
		}
	}
	return header.Phnum > 0
}

// copyProgram copies the program into a directory, executable only by this process's
// user.
func copyProgram(program *os.File, dir int, name string) error {
	info, err := program.Stat()
	if err != nil {
		return fmt.Errorf("copy ldconfig: %w", err)
	}
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o500)
	if err != nil {
		return fmt.Errorf("copy ldconfig: %w", err)
	}
	defer unix.Close(fd)
	var offset int64
	for offset < info.Size() {
		n, err := unix.Sendfile(fd, int(program.Fd()), &offset, int(info.Size()-offset))
		if err != nil || n == 0 {
			return fmt.Errorf("copy ldconfig: %w", &fs.PathError{Op: "sendfile", Path: program.Name(), Err: err})
		}
	}
	return nil
}
