// SPDX-License-Identifier: Apache-2.0

package hosttree_test

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

var amd64 = shlib.Kind{Class: elf.ELFCLASS64, Data: elf.ELFDATA2LSB, Machine: elf.EM_X86_64}

var libraries = map[string]hosttree.Library{
	"nothing":  {Kind: amd64},
	"a name":   {Kind: amd64, Soname: "libx.so.1"},
	"arm":      {Kind: shlib.Kind{Class: elf.ELFCLASS64, Data: elf.ELFDATA2LSB, Machine: elf.EM_AARCH64}, Soname: "libx.so"},
	"a number": {Kind: shlib.Kind{Class: elf.ELFCLASS64, Data: elf.ELFDATA2LSB, Machine: 4711}},
	"32 bits":  {Kind: shlib.Kind{Class: elf.ELFCLASS32, Data: elf.ELFDATA2LSB, Machine: elf.EM_386}},
	"big":      {Kind: shlib.Kind{Class: elf.ELFCLASS64, Data: elf.ELFDATA2MSB, Machine: elf.EM_PPC64}},
	"all of it": {
		Kind: amd64, Soname: "libmccl.so", Needed: []string{"libmcruntime.so", "libc.so.6", "libstdc++.so.6"}, Runpath: "$ORIGIN/../lib:/opt/x",
		Versions: []shlib.Version{
			{Library: "libc.so.6", Name: "GLIBC_2.34"}, {Library: "libc.so.6", Name: "GLIBC_2.2.5"}, {Library: "libstdc++.so.6", Name: "GLIBCXX_3.4.30"},
		},
	},
}

// TestLibrary: a library's placeholder on disk has the facts of the tree's, but counts
// only below another root than "/".
func TestLibrary(t *testing.T) {
	for name, l := range libraries {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "host")
			tree := hosttree.Tree{"lib/x.so": l}
			if err := tree.Write(dir); err != nil {
				t.Fatal(err)
			}
			host := simtest.Root(t, dir)
			got, err := shlib.ReadAt(host, "/lib/x.so")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(l, hosttree.Library(got)); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			again, err := hosttree.Parse(tree.Format())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tree, again); diff != "" {
				t.Errorf("text (-want +got):\n%s\n%s", diff, tree.Format())
			}
			machine := simtest.Root(t, "/")
			if _, err := shlib.ReadAt(machine, filepath.Join(dir, "lib/x.so")); !errors.Is(err, shlib.ErrNotELF) {
				t.Errorf("on a machine itself: %v; want ErrNotELF", err)
			}
		})
	}
}

func TestLibraryRefused(t *testing.T) {
	for _, l := range []hosttree.Library{
		{},
		{Kind: amd64, Soname: "a b"},
		{Kind: amd64, Soname: "a\nb"},
		{Kind: amd64, Needed: []string{""}},
		{Kind: amd64, Needed: make([]string, 2000)},
		{Kind: amd64, Runpath: strings.Repeat("x", 5000)},
		{Kind: amd64, Versions: []shlib.Version{{Library: "libc.so.6"}}},
		{Kind: shlib.Kind{Class: elf.ELFCLASS32, Data: elf.ELFDATA2LSB}, Soname: "libx.so"},
		{Kind: shlib.Kind{Class: 9, Data: 1}},
	} {
		if err := (hosttree.Tree{"x.so": l}).Check(); !errors.Is(err, hosttree.ErrTree) {
			t.Errorf("%.60v: %v; want ErrTree", l, err)
		}
	}
	for _, body := range []string{"soname", "soname a b", "version a", "machine EM_NONE_SUCH", "class 0", "data x", "code 1", "machine"} {
		if _, err := hosttree.Parse([]byte("-- x.so (elf) --\n" + body + "\n")); !errors.Is(err, hosttree.ErrTree) {
			t.Errorf("%q: %v; want ErrTree", body, err)
		}
	}
}

// TestWriteInert: an inert tree has no device that could be opened, even if root writes
// it.
func TestWriteInert(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := (hosttree.Tree{"dev/null": hosttree.Device{Major: 1, Minor: 3, Perm: 0o666, GID: 7}}).WriteInert(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(dir, "dev/null"))
	if err != nil || !info.Mode().IsRegular() {
		t.Fatalf("it is %v, %v; want a regular file", info.Mode(), err)
	}
	host := simtest.Root(t, dir)
	if d, err := host.Device("/dev/null"); err != nil || d != (hostfs.Device{Major: 1, Minor: 3, Perm: 0o666, GID: 7}) {
		t.Errorf("it stands for %+v, %v", d, err)
	}
}

func TestDepth(t *testing.T) {
	deep := strings.Repeat("a/", 65) + "b"
	if err := (hosttree.Tree{deep: hosttree.File{}}).Check(); !errors.Is(err, hosttree.ErrTree) {
		t.Errorf("%v; want ErrTree", err)
	}
	if err := (hosttree.Tree{deep[2:]: hosttree.File{}}).Check(); err != nil {
		t.Error(err)
	}
}
