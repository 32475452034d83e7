package hosttree_test

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca/shlib"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
)

var libraries = map[string]hosttree.Library{
	"nothing":   {},
	"a name":    {Soname: "libx.so.1"},
	"arm":       {Machine: elf.EM_AARCH64, Soname: "libx.so"},
	"a number":  {Machine: 4711},
	"32 bits":   {Machine: elf.EM_386, Class: elf.ELFCLASS32, Data: elf.ELFDATA2LSB},
	"big":       {Machine: elf.EM_PPC64, Class: elf.ELFCLASS64, Data: elf.ELFDATA2MSB},
	"all of it": everything,
}

var everything = hosttree.Library{
	Soname: "libmccl.so", Needed: []string{"libmcruntime.so", "libc.so.6", "libstdc++.so.6"}, Runpath: "$ORIGIN/../lib:/opt/x",
	Versions: []hosttree.Version{
		{Library: "libc.so.6", Name: "GLIBC_2.34"}, {Library: "libc.so.6", Name: "GLIBC_2.2.5"}, {Library: "libstdc++.so.6", Name: "GLIBCXX_3.4.30"},
	},
}

// A library on disk says what the tree says, to the program that reads libraries and
// to debug/elf.
func TestLibrary(t *testing.T) {
	for name, l := range libraries {
		t.Run(name, func(t *testing.T) {
			got, err := shlib.Read(strings.NewReader(l.Image()))
			if err != nil {
				t.Fatal(err)
			}
			want := shlib.Library{Soname: l.Soname, Needed: l.Needed, Runpath: l.Runpath}
			want.Kind = shlib.Kind{Class: elf.ELFCLASS64, Data: elf.ELFDATA2LSB, Machine: elf.EM_X86_64}
			if l.Machine != 0 {
				want.Kind.Machine = l.Machine
			}
			if l.Class != 0 {
				want.Kind.Class, want.Kind.Data = l.Class, l.Data
			}
			for _, v := range l.Versions {
				want.Versions = append(want.Versions, shlib.Version(v))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			tree := hosttree.Tree{"lib/x.so": l}
			again, err := hosttree.Parse(tree.Format())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tree, again); diff != "" {
				t.Errorf("text (-want +got):\n%s\n%s", diff, tree.Format())
			}
		})
	}
	f, err := elf.NewFile(strings.NewReader(everything.Image()))
	if err != nil {
		t.Fatal(err)
	}
	if needed, err := f.ImportedLibraries(); err != nil || !cmp.Equal(needed, everything.Needed) {
		t.Errorf("it needs %v, %v", needed, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			t.Error("a part of it can be executed")
		}
	}
}

func TestLibraryRefused(t *testing.T) {
	for _, l := range []hosttree.Library{
		{Soname: "a b"},
		{Soname: "a\nb"},
		{Needed: []string{""}},
		{Needed: make([]string, 2000)},
		{Runpath: strings.Repeat("x", 5000)},
		{Versions: []hosttree.Version{{Library: "libc.so.6"}}},
		{Class: elf.ELFCLASS32, Data: elf.ELFDATA2LSB, Soname: "libx.so"},
		{Class: 9, Data: 1},
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

// An inert tree has no device that could be opened, whoever writes it.
func TestWriteInert(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := (hosttree.Tree{"dev/null": hosttree.Device{Major: 1, Minor: 3, Perm: 0o666, GID: 7}}).WriteInert(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(dir, "dev/null"))
	if err != nil || !info.Mode().IsRegular() {
		t.Fatalf("it is %v, %v; want a regular file", info.Mode(), err)
	}
	host, err := hostfs.New(dir)
	if err != nil {
		t.Fatal(err)
	}
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
