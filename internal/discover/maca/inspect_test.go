// SPDX-License-Identifier: Apache-2.0

package maca_test

import (
	"debug/elf"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// inspect reads the default installation of a host.
func inspect(t *testing.T, h *hostfs.Root) maca.Inspection {
	t.Helper()
	i, err := maca.List(h, "").Choose("")
	if err != nil {
		t.Fatal(err)
	}
	return maca.Inspect(h, i)
}

// bare is an installation of one library, and a host's system.
func bare(libs map[string]lib) sim.Tree {
	tree := sim.Tree{
		"opt/maca": sim.Link("/opt/maca-3"), "opt/maca-3/Version.txt": sim.File{Data: "Version:3\n"},
		"etc/ld.so.conf":                     sim.File{Data: "include /etc/ld.so.conf.d/*.conf # more\nhwcap 0 nosegneg\n"},
		"etc/ld.so.conf.d/local.conf":        sim.File{Data: "/usr/local/lib\n/opt/maca/lib\n/opt/maca-2/lib\n"},
		"etc/ld.so.conf.d/.hidden.conf":      sim.File{Data: "/hidden"},
		"lib/x86_64-linux-gnu/libc.so.6":     lib{soname: "libc.so.6"}.file(),
		"usr/lib64/libstdc++.so.6":           lib{soname: "libstdc++.so.6"}.file(),
		"usr/local/lib/libnuma.so.1":         lib{soname: "libnuma.so.1"}.file(),
		"usr/lib/lib32.so.1":                 lib{soname: "lib32.so.1", machine: elf.EM_386}.file(),
		"hidden/libhidden.so":                lib{}.file(),
		"opt/maca-2/lib/libold.so":           lib{soname: "libold.so"}.file(),
		"opt/maca-2/Version.txt":             sim.File{Data: "Version:2\n"},
		"opt/mxdriver/lib/libmxsml.so":       lib{soname: "libmxsml.so"}.file(),
		"opt/maca-3/lib/deep/libdeep.so":     lib{soname: "libdeep.so"}.file(),
		"usr/lib/x86_64-linux-gnu/nodir.txt": sim.File{},
	}
	for name, l := range libs {
		tree["opt/maca-3/"+name] = l.file()
	}
	return tree
}

func TestInspect(t *testing.T) {
	got := inspect(t, simtest.Write(t, bare(map[string]lib{
		"lib/liba.so": {
			soname: "liba.so", runpath: "/nowhere:$ORIGIN/deep",
			needed:   []string{"libb.so.1", "libmxsml.so", "libdeep.so", "libc.so.6", "libstdc++.so.6", "libgone.so.3"},
			versions: [][2]string{{"libc.so.6", "GLIBC_2.9"}, {"libc.so.6", "GLIBC_2.34"}, {"libc.so.6", "GLIBC_PRIVATE"}, {"libb.so.1", "B_9.9"}, {"libstdc++.so.6", "GLIBCXX_3.4.9"}, {"libstdc++.so.6", "CXXABI_1.3.11"}},
		},
		// The SONAME is libb.so.1, but no file has that name: a link will be made.
		"ucx/lib/libb.so.1.2": {
			soname: "libb.so.1", runpath: "${ORIGIN}/../../../maca-2/lib",
			needed:   []string{"libc.so.6", "libnuma.so.1", "libold.so", "lib32.so.1", "libhidden.so", "libgone.so.3", "/lib/x86_64-linux-gnu/libc.so.6"},
			versions: [][2]string{{"libc.so.6", "GLIBC_2.17"}, {"libstdc++.so.6", "GLIBCXX_3.4.30"}},
		},
	})))
	a, b := "/opt/maca/lib/liba.so", "/opt/maca/ucx/lib/libb.so.1.2"
	want := maca.Inspection{
		Machine: "EM_X86_64",
		Libraries: []maca.Library{
			{"/opt/mxdriver/lib/libmxsml.so", "libmxsml.so", nil},
			{a, "liba.so", []string{"libb.so.1", "libmxsml.so", "libdeep.so", "libc.so.6", "libstdc++.so.6", "libgone.so.3"}},
			{b, "libb.so.1", []string{"libc.so.6", "libnuma.so.1", "libold.so", "lib32.so.1", "libhidden.so", "libgone.so.3", "/lib/x86_64-linux-gnu/libc.so.6"}},
		},
		Missing: []maca.Missing{
			{"/lib/x86_64-linux-gnu/libc.so.6", []string{b}},
			{"lib32.so.1", []string{b}},
			{"libgone.so.3", []string{a, b}},
			{"libhidden.so", []string{b}},
			{"libold.so", []string{b}},
		},
		Image: []maca.Demand{
			{"libc.so.6", []string{"GLIBC_2.34"}, []string{a, b}},
			{"libnuma.so.1", []string{}, []string{b}},
			{"libstdc++.so.6", []string{"CXXABI_1.3.11", "GLIBCXX_3.4.30"}, []string{a}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInspectTrouble(t *testing.T) {
	one := map[string]lib{"lib/liba.so": {soname: "liba.so"}, "lib/libb.so": {soname: "libb.so"}}
	for _, test := range []struct {
		name string
		edit func(sim.Tree)
		want maca.Problem // the only one; Text is a part
	}{
		{"a link that leads nowhere", func(tree sim.Tree) { tree["opt/maca-3/lib/libx.so"] = sim.Link("libx.so.1") }, maca.Problem{"broken", "/opt/maca-3/lib/libx.so leads nowhere: no such file"}},
		{"a loop", func(tree sim.Tree) { tree["opt/maca-3/lib/libx.so"] = sim.Link("libx.so") }, maca.Problem{"broken", "/opt/maca-3/lib/libx.so leads nowhere: too many"}},
		{"a link out", func(tree sim.Tree) { tree["opt/maca-3/lib/libx.so"] = sim.Link("/opt/maca-2/lib/libold.so") }, maca.Problem{"outside", "libx.so leads out of the installation, to /opt/maca-2/lib/libold.so"}},
		{"a directory", func(tree sim.Tree) { tree["opt/maca-3/lib/libx.so"] = sim.Dir{} }, maca.Problem{"unreadable", "libx.so: not a regular file"}},
		{"an empty file", func(tree sim.Tree) { tree["opt/maca-3/lib/libx.so"] = sim.File{} }, maca.Problem{"unreadable", "libx.so: the file is empty"}},
		{"cut off", func(tree sim.Tree) {
			tree["opt/maca-3/lib/libx.so"] = sim.File{Data: lib{soname: "libx.so"}.file().Data[:200]}
		}, maca.Problem{"unreadable", "libx.so: damaged ELF file"}},
		{"another machine", func(tree sim.Tree) { tree["opt/maca-3/lib/libx.so"] = lib{machine: elf.EM_AARCH64}.file() }, maca.Problem{"foreign", "libx.so is left out: it is for EM_AARCH64, the others are for EM_X86_64"}},
		{"no directory of the linker", func(tree sim.Tree) {
			tree["opt/maca-3/lib/libx.so"] = lib{needed: []string{"libc.so.6"}}.file()
			tree["etc/ld.so.conf"] = sim.Dir{}
		}, maca.Problem{"system", "/etc/ld.so.conf: not a regular file"}},
		{"a linker with too many directories", func(tree sim.Tree) {
			tree["opt/maca-3/lib/libx.so"] = lib{needed: []string{"libc.so.6"}}.file()
			tree["etc/ld.so.conf"] = sim.File{Data: strings.Repeat("/a\n", 1025)}
		}, maca.Problem{"system", "more than 1024 directories"}},
		{"a lib that is a file", func(tree sim.Tree) { tree["opt/maca-3/ompi/lib"] = sim.File{} }, maca.Problem{"directories", "/opt/maca-3/ompi/lib: not a directory"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree := bare(one)
			test.edit(tree)
			got := inspect(t, simtest.Write(t, tree))
			if len(got.Problems) != 1 || got.Problems[0].Kind != test.want.Kind || !strings.Contains(got.Problems[0].Text, test.want.Text) {
				t.Errorf("problems are %q, want one like %q", got.Problems, test.want)
			}
			if len(got.Libraries) < 3 {
				t.Errorf("only %d libraries are left", len(got.Libraries))
			}
		})
	}
}

// TestInspectForeign: a library for another machine does not satisfy a need; another
// library of the same name does.
func TestInspectForeign(t *testing.T) {
	other := lib{soname: "libx.so", machine: elf.EM_AARCH64}
	libs := map[string]lib{"lib/liba.so": {needed: []string{"libx.so", "liby.so"}}, "lib/libx.so": other, "lib/liby.so": other, "ucx/lib/liby.so": {}}
	got := inspect(t, simtest.Write(t, bare(libs)))
	if diff := cmp.Diff([]maca.Missing{{"libx.so", []string{"/opt/maca/lib/liba.so"}}}, got.Missing); diff != "" || len(got.Problems) != 2 {
		t.Errorf("%q %s", got.Problems, diff)
	}
}

// TestInspectSpecial: special files are not opened and huge files are not read.
func TestInspectSpecial(t *testing.T) {
	h := simtest.Write(t, bare(map[string]lib{"lib/liba.so": {soname: "liba.so"}}))
	if err := unix.Mkfifo(h.Join("/opt/maca-3/lib/libfifo.so"), 0o644); err != nil {
		t.Fatal(err)
	}
	huge := []byte(lib{soname: "libhuge.so"}.file().Data)
	testfile.Write(t, h.Join("/opt/maca-3/lib/libhuge.so"), huge, 0o644)
	if err := os.Truncate(h.Join("/opt/maca-3/lib/libhuge.so"), 1<<40); err != nil {
		t.Fatal(err)
	}
	version := append([]byte("Version:3.3\n"), make([]byte, 1<<20)...)
	testfile.Write(t, h.Join("/opt/maca-3/Version.txt"), version, 0o644)
	if err := os.Truncate(h.Join("/opt/maca-3/Version.txt"), 1<<40); err != nil {
		t.Fatal(err)
	}
	got := inspect(t, h)
	if len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Text, "libfifo.so: not a regular file") || len(got.Libraries) != 3 {
		t.Errorf("%d libraries, problems %q", len(got.Libraries), got.Problems)
	}
	if i, err := maca.List(h, "").Choose(""); err != nil || i.Version != "3.3" {
		t.Errorf("version %q, %v", i.Version, err)
	}
	if err := os.Remove(h.Join("/opt/maca-3/Version.txt")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(h.Join("/opt/maca-3/Version.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	if i, err := maca.List(h, "").Choose(""); err != nil || i.Version != "" || len(i.Warnings) != 1 || !strings.Contains(i.Warnings[0], "Version.txt: not a regular file") {
		t.Errorf("%+v, %v", i, err)
	}
}

// TestInspectMany: a directory with many defects gives only some lines.
func TestInspectMany(t *testing.T) {
	tree := bare(map[string]lib{"lib/liba.so": {soname: "liba.so"}})
	for i := range 300 {
		tree[fmt.Sprintf("opt/maca-3/lib/libx%d.so", i)] = sim.Link("none")
	}
	got := inspect(t, simtest.Write(t, tree))
	if len(got.Problems) != 21 || got.Problems[20].Text != "and 280 more of this kind" {
		t.Errorf("%d problems, the last is %q", len(got.Problems), got.Problems[len(got.Problems)-1])
	}
}

// FuzzTexts checks that reading the host's texts comes to an end and that each warning
// is one line.
func FuzzTexts(f *testing.F) {
	f.Add([]byte("Version:3.3.0.15\n"), []byte("include /etc/ld.so.conf.d/*.conf\n/usr/lib64=libc6\n"))
	f.Add([]byte("\x00:"), []byte("include ld.so.conf [ /etc/*\nhwcap\n/"))
	tree := bare(map[string]lib{"lib/liba.so": {soname: "liba.so", needed: []string{"libc.so.6", "libstdc++.so.6"}}})
	h := simtest.Write(f, tree)
	f.Fuzz(func(t *testing.T, version, conf []byte) {
		for name, data := range map[string][]byte{"/opt/maca-3/Version.txt": version, "/etc/ld.so.conf": conf} {
			testfile.Write(t, h.Join(name), data, 0o644)
		}
		i, err := maca.List(h, "").Choose("")
		if err != nil || (i.Version == "") != (len(i.Warnings) == 1) || strings.ContainsAny(strings.Join(i.Warnings, ""), "\n\x1b") {
			t.Errorf("%+v, %v", i, err)
		}
		// The dynamic linker's own directories are searched whatever the text says.
		if got := maca.Inspect(h, i); len(got.Image) != 2 || len(got.Missing) != 0 || len(got.Problems) > 21 {
			t.Errorf("%+v", got)
		}
	})
}
