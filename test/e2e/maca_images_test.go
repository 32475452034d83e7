// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/image"
)

// The images whose programs run on MXMACA. Each has /which, a C program that is linked with
// one of its libraries and reports which file that is, and the probe, which becomes it.
const (
	debianImage     = "debian"     // as debootstrap makes it
	fedoraImage     = "fedora"     // with everything in /usr/lib64, and found by the cache alone
	distrolessImage = "distroless" // nothing but glibc
	prefixImage     = "prefix"     // a musl system with a glibc of its own prefix beside it
	muslImage       = "musl"       // musl alone, and an mx-smi of its own
	staticImage     = "static"     // busybox alone, which loads nothing
	linkedImage     = "linked"     // debian with its own MXMACA, installed as the vendor does
	directoryImage  = "directory"  // the same, in /opt/maca itself, and not in the environment
)

var macaImages = []string{
	debianImage, fedoraImage, distrolessImage, prefixImage, muslImage, staticImage, linkedImage, directoryImage,
}

func macaRef(name string) string { return "localhost/metax-e2e/" + name + ":1" }

// The versions of the stand-ins for libraries, and of the installations that they stand in.
const (
	hostVersion  = "3.3.0.15"
	otherVersion = "2.32.0.6" // side by side with it on the host
	imageVersion = "3.7.1.5"  // the images' own
)

const (
	loader         = "/lib64/ld-linux-x86-64.so.2"
	runtimeLibrary = "libmcruntime.so"
	ownSMI         = "of-the-image"
	macaEnv        = "MACA_PATH=/opt/maca"
)

// compile makes a shared library or a program of a source in testdata.
func compile(t *testing.T, compiler, out, source string, options ...string) {
	t.Helper()
	args := append([]string{"-o", out, filepath.Join("testdata", source)}, options...)
	if text, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", compiler, strings.Join(args, " "), err, text)
	}
}

// library creates the stand-in for a library of MXMACA.
func library(t *testing.T, out, version string) {
	t.Helper()
	compile(t, "gcc", out, "libmcruntime.c", "-shared", "-fPIC", "-nostdlib", "-Wl,-soname,"+runtimeLibrary, fmt.Sprintf("-DVERSION=%q", version))
}

// files is an image in the making.
type files struct{ image.Image }

// add takes in the tree below a directory, at a path of the image.
func (f *files) add(t *testing.T, tree, at string) {
	t.Helper()
	err := filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(at, strings.TrimPrefix(path, tree))
		switch {
		case entry.IsDir() && to != "/":
			f.Dirs = append(f.Dirs, to)
		case entry.Type() == fs.ModeSymlink:
			f.Links[to], err = os.Readlink(path)
		case entry.Type().IsRegular():
			f.Files[to], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// macaArchive makes the archive of one of the images.
func macaArchive(t *testing.T, name, out string) {
	t.Helper()
	system := os.Getenv("METAX_E2E_SYSTEM")
	if system == "" {
		t.Fatal("no system for images: start with test/e2e/run")
	}
	dir := t.TempDir()
	library(t, filepath.Join(dir, runtimeLibrary), "linked with")
	compiler := "gcc"
	if name == muslImage {
		compiler = "musl-gcc"
	}
	compile(t, compiler, filepath.Join(dir, "which"), "which.c", "-L"+dir, "-lmcruntime")
	f := files{image.Image{
		Ref: macaRef(name), Files: map[string][]byte{}, Links: map[string]string{},
		Dirs: []string{"/dev", "/proc", "/sys", "/tmp"},
		Env:  []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Cmd: []string{"/which"},
	}}
	read := func(path string) []byte {
		text, err := os.ReadFile(filepath.Join(system, path))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	f.Files["/which"], _ = os.ReadFile(filepath.Join(dir, "which"))
	probe, err := os.ReadFile(filepath.Join(fixed.bin, "probe"))
	if err != nil {
		t.Fatal(err)
	}
	f.Files["/probe"] = probe
	switch name {
	case debianImage, linkedImage, directoryImage:
		for _, part := range []string{"/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr"} {
			f.add(t, system+part, part)
		}
	case fedoraImage:
		fedora(t, &f, read)
	case distrolessImage:
		f.Files[loader] = read("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
		f.Files["/lib/x86_64-linux-gnu/libc.so.6"] = read("/lib/x86_64-linux-gnu/libc.so.6")
	case prefixImage:
		// Its dynamic linker looks into a cache of another place, the name of which is in it.
		const cache, own = "/etc/ld.so.cache\x00", "/gcc/ld.so.cache\x00"
		f.Files["/gcc/lib/ld-linux-x86-64.so.2"] = bytes.ReplaceAll(read("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"), []byte(cache), []byte(own))
		f.Links[loader] = "/gcc/lib/ld-linux-x86-64.so.2"
		f.Files["/lib/x86_64-linux-gnu/libc.so.6"] = read("/lib/x86_64-linux-gnu/libc.so.6")
		f.Files["/lib/ld-musl-x86_64.so.1"] = read("/lib/x86_64-linux-musl/libc.so")
		f.Dirs = append(f.Dirs, "/etc")
	case muslImage:
		f.Files["/lib/ld-musl-x86_64.so.1"] = read("/lib/x86_64-linux-musl/libc.so")
		f.Files["/usr/bin/mx-smi"] = []byte("#!/bin/sh\necho " + ownSMI + "\n")
		f.Dirs = append(f.Dirs, "/etc")
	case staticImage:
		delete(f.Files, "/which")
	}
	if name != debianImage && name != distrolessImage {
		f.Files["/bin/busybox"] = read("/bin/busybox")
		f.Links["/bin/sh"] = "busybox"
	}
	home := map[string]string{linkedImage: "/opt/maca-" + imageVersion, directoryImage: "/opt/maca"}[name]
	if home != "" {
		library(t, filepath.Join(dir, runtimeLibrary), "the image's")
		f.Files[home+"/lib/"+runtimeLibrary], _ = os.ReadFile(filepath.Join(dir, runtimeLibrary))
		f.Files[home+"/Version.txt"] = []byte("Version:" + imageVersion + "\n")
	}
	if name == linkedImage {
		f.Links["/opt/maca"] = home
		f.Env = append(f.Env, macaEnv, "LD_LIBRARY_PATH=/opt/maca/lib")
	}
	archive, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if _, err := f.WriteTo(archive); err != nil {
		t.Fatal(err)
	}
}

// fedora puts a system together as Fedora does: /lib64 is a link, and libraries stand where
// this dynamic linker finds them through the cache only.
func fedora(t *testing.T, f *files, read func(string) []byte) {
	t.Helper()
	tree := t.TempDir()
	for path, text := range map[string][]byte{
		"/usr/lib64/ld-linux-x86-64.so.2": read("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
		"/usr/lib64/libc.so.6":            read("/lib/x86_64-linux-gnu/libc.so.6"),
		"/etc/ld.so.conf":                 []byte("include ld.so.conf.d/*.conf\n"),
		"/etc/ld.so.conf.d/usr.conf":      []byte("/usr/lib64\n"),
	} {
		if err := os.MkdirAll(filepath.Dir(tree+path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tree+path, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("usr/lib64", tree+"/lib64"); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("ldconfig", "-r", tree).CombinedOutput(); err != nil {
		t.Fatalf("ldconfig: %v\n%s", err, text)
	}
	f.add(t, tree, "/")
}
