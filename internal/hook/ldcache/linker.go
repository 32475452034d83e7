// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"bytes"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/ldconf"
)

// maxLoader is the largest dynamic linker that is read, in bytes; one with all its
// symbols has a fourth of that.
const maxLoader = 8 << 20

// loaders are the paths under which programs look for glibc's dynamic linker, and
// musl's name of the machine.
var loaders = []struct{ name, arch string }{
	{"/lib64/ld-linux-x86-64.so.2", "x86_64"},
	{"/lib/ld-linux-x86-64.so.2", "x86_64"},
	{"/lib/ld-linux-aarch64.so.1", "aarch64"},
	{"/lib64/ld-linux-loongarch-lp64d.so.1", "loongarch64"},
	{"/lib/ld-linux-riscv64-lp64d.so.1", "riscv64"},
	{"/lib64/ld64.so.2", "powerpc64le"},
	{"/lib/ld64.so.1", "s390x"},
	{"/lib/ld-linux.so.2", "i386"},
}

// findLinkers returns the files by which the dynamic linkers of a container find
// libraries: the caches of glibc's linkers, at the path that each was built with, and
// the search paths of musl's, where that links programs for glibc. It reads the linkers
// and executes nothing.
func findLinkers(root *inroot.Root) (caches, paths []string) {
	add := func(list []string, name string) []string {
		if slices.Contains(list, name) {
			return list
		}
		return append(list, name)
	}
	for _, loader := range loaders {
		info, err := root.Stat(loader.name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		// One that cannot be read counts as one without a cache's name.
		data, _ := root.ReadFile(loader.name, maxLoader)
		cache := cacheName(data)
		switch {
		case cache != "":
			caches = add(caches, cache)
		case hasMusl(root, loader.arch):
			paths = add(paths, "/etc/ld-musl-"+loader.arch+".path")
		default:
			caches = add(caches, cachePath)
		}
	}
	return caches, paths
}

// cacheName returns the path of the cache that is built into glibc's dynamic linker, as
// a string of C: the first that can be one; "" if there is none.
func cacheName(loader []byte) string {
	end := []byte("/ld.so.cache\x00")
	for {
		i := bytes.Index(loader, end)
		if i < 0 {
			return ""
		}
		text := loader[:i+len(end)-1]
		loader = loader[i+len(end):]
		begin := bytes.LastIndexByte(text, 0) + 1
		if len(text)-begin >= unix.PathMax {
			continue
		}
		if name := string(text[begin:]); ldconf.Check(name) == nil {
			return name
		}
	}
}

// hasMusl reports whether the container has musl, so that a glibc linker without a
// cache is musl under another name, or starts it.
func hasMusl(root *inroot.Root, arch string) bool {
	info, err := root.Stat("/lib/ld-musl-" + arch + ".so.1")
	return err == nil && info.Mode().IsRegular()
}

// builtInDirs returns the directories that are built into the container's dynamic
// linker but maybe not into the host's ldconfig: lib64 if glibc is there, and those
// beside a cache in an unusual place. Without them the cache would lack most of the
// image's libraries, or have those of the container's other C library instead.
func builtInDirs(root *inroot.Root, cache string) (list []string) {
	prefix := path.Dir(path.Dir(cache))
	candidates := []string{path.Join(prefix, "lib"), path.Join(prefix, "lib64")}
	if prefix == "/" {
		if _, err := root.Stat("/lib64/libc.so.6"); err != nil {
			return nil
		}
		candidates = []string{"/lib64", "/usr/lib64"}
	}
	for _, dir := range candidates {
		if info, err := root.Stat(dir); err == nil && info.IsDir() {
			list = append(list, dir)
		}
	}
	return list
}
