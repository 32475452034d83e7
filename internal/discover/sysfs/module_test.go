// SPDX-License-Identifier: Apache-2.0

package sysfs_test

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

const (
	kernel = "5.15.0-91-generic"
	below  = "lib/modules/" + kernel + "/"
	ko     = below + "updates/dkms/metax.ko"
)

// module is a minimal kernel module: a .modinfo section, and the section names.
func module(modinfo string) string {
	const names = "\x00.modinfo\x00.shstrtab\x00"
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], uint16(elf.ET_REL))
	le.PutUint16(b[18:], uint16(elf.EM_X86_64))
	info := len(b)
	b = append(b, modinfo...)
	strs := len(b)
	b = append(b, names...)
	table := len(b)
	b = append(b, make([]byte, 3*64)...)
	le.PutUint64(b[40:], uint64(table))
	le.PutUint16(b[58:], 64)
	le.PutUint16(b[60:], 3)
	le.PutUint16(b[62:], 2)
	header := func(i, name, offset, size int) {
		h := b[table+64*i:]
		le.PutUint32(h, uint32(name))
		le.PutUint64(h[24:], uint64(offset))
		le.PutUint64(h[32:], uint64(size))
	}
	header(1, 1, info, len(modinfo))
	header(2, 10, strs, len(names))
	return string(b)
}

const sound = "license=GPL\x00version=3.8.30\x00srcversion=0123\x00"

func gzipped(t *testing.T, text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func readModule(t *testing.T, tree sim.Tree, unpack map[string]sysfs.Unpack) sysfs.Module {
	t.Helper()
	host := simtest.Write(t, tree)
	dir := host.Dir()
	m := sysfs.ReadModule(host, unpack)
	for i, w := range m.Warnings {
		m.Warnings[i] = strings.ReplaceAll(w, dir, "")
	}
	return m
}

func TestReadModuleFile(t *testing.T) {
	files := func(file, content, dep string) sim.Tree {
		return sim.Tree{
			"proc/sys/kernel/osrelease": sim.File{Data: kernel + "\n"}, below + "modules.dep": sim.File{Data: dep}, file: sim.File{Data: content},
		}
	}
	const dep = "kernel/drivers/metax.ko_old.ko:\nupdates/dkms/metaxlink.ko: x.ko\nupdates/dkms/metax.ko: kernel/drivers/gpu/drm/ttm/ttm.ko\n"
	usual := files(ko, module(sound), dep)
	loaded := sim.Tree{"sys/module/metax": sim.Dir{}}
	plain := map[string]sysfs.Unpack{".zst": func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(r), nil }}
	const unknown = "driver version is not known: "
	for _, test := range []struct {
		name     string
		tree     sim.Tree
		unpack   map[string]sysfs.Unpack
		want     sysfs.Module
		warnings []string
	}{
		{"nothing at all", sim.Tree{}, nil, sysfs.Module{}, nil},
		{"would be loaded", usual, nil, sysfs.Module{Version: "3.8.30", File: "/" + ko}, nil},
		{
			"loaded without a version", join(usual, loaded), nil,
			sysfs.Module{Loaded: true, Version: "3.8.30", File: "/" + ko},
			[]string{"driver version was read from /" + ko},
		},
		{
			"the kernel knows better", join(usual, sim.Tree{"sys/module/metax/version": sim.File{Data: "3.4.4\n"}}), nil,
			sysfs.Module{Loaded: true, Version: "3.4.4", File: "/sys/module/metax/version"},
			nil,
		},
		{
			"the driver of virtual functions",
			sim.Tree{"sys/module/mxgvm/version": sim.File{Data: "2.5.1\n"}},
			nil,
			sysfs.Module{Loaded: true, Version: "2.5.1", File: "/sys/module/mxgvm/version"},
			nil,
		},
		{
			"in upper case",
			sim.Tree{"sys/module/MXGVM/version": sim.File{Data: "2.5.1\n"}},
			nil,
			sysfs.Module{Loaded: true, Version: "2.5.1", File: "/sys/module/MXGVM/version"},
			nil,
		},
		{
			"both drivers",
			sim.Tree{"sys/module/mxgvm/version": sim.File{Data: "2.5.1\n"}, "sys/module/metax/version": sim.File{Data: "3.4.4\n"}},
			nil,
			sysfs.Module{Loaded: true, Version: "3.4.4", File: "/sys/module/metax/version"},
			nil,
		},
		{"nothing but loaded", loaded, nil, sysfs.Module{Loaded: true}, []string{unknown + "open /proc/sys/kernel/osrelease"}},
		{"packed by gzip", files(ko+".gz", gzipped(t, module(sound)), "updates/dkms/metax.ko.gz:\n"), nil, sysfs.Module{Version: "3.8.30", File: "/" + ko + ".gz"}, nil},
		{
			"packed badly", files(ko+".gz", gzipped(t, module(sound))[:60], "updates/dkms/metax.ko.gz:\n"), nil,
			sysfs.Module{},
			[]string{unknown + "read /" + ko + ".gz: unexpected EOF"},
		},
		{
			"packed by what nobody unpacks", files(ko+".xz", "x", "updates/dkms/metax.ko.xz:\n"), plain,
			sysfs.Module{},
			[]string{unknown + "read /" + ko + ".xz: cannot unpack .xz here (compare: modinfo metax)"},
		},
		{"packed by what the caller unpacks", files(ko+".zst", module(sound), "updates/dkms/metax.ko.zst:\n"), plain, sysfs.Module{Version: "3.8.30", File: "/" + ko + ".zst"}, nil},
		{"an absolute path", files(ko, module(sound), "/"+ko+":\n"), nil, sysfs.Module{Version: "3.8.30", File: "/" + ko}, nil},
		{"of no kernel", join(usual, sim.Tree{"proc/sys/kernel/osrelease": sim.File{Data: "../x\n"}}), nil, sysfs.Module{}, []string{unknown + `/proc/sys/kernel/osrelease is "../x"`}},
		{"not installed", files(ko, module(sound), "updates/dkms/other.ko:\n"), nil, sysfs.Module{}, nil},
		{"a directory", join(files(ko+"/x", "", dep), loaded), nil, sysfs.Module{Loaded: true}, []string{unknown + "open /" + ko + ": not a regular file"}},
		{"no version", files(ko, module("license=GPL\x00"), dep), nil, sysfs.Module{}, []string{unknown + "read /" + ko + ": not a sound kernel module: it has no version"}},
		{"an odd version", files(ko, module("version=3 4\x00"), dep), nil, sysfs.Module{}, []string{`its version is "3 4"`}},
		{"cut off", files(ko, module(sound)[:100], dep), nil, sysfs.Module{}, []string{"no section table"}},
		{"no ELF", files(ko, "version=3.8.30", dep), nil, sysfs.Module{}, []string{"not a 64-bit little-endian ELF file"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := readModule(t, test.tree, test.unpack)
			gputest.WantWarnings(t, test.warnings, got.Warnings)
			got.Warnings = nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReadNotLoaded: the driver of a node is the loaded one, not the installed one.
func TestReadNotLoaded(t *testing.T) {
	tree := join(host(), sim.Tree{
		"proc/sys/kernel/osrelease": sim.File{Data: kernel}, below + "modules.dep": sim.File{Data: "updates/dkms/metax.ko:\n"}, ko: sim.File{Data: module(sound)},
	})
	for p := range tree {
		if strings.HasPrefix(p, "sys/module/") {
			delete(tree, p)
		}
	}
	got, err := read(t, tree)
	if err != nil || got.Module.Loaded || got.Module.Version != "" {
		t.Errorf("loaded %v, version %q, %v", got.Module.Loaded, got.Module.Version, err)
	}
}

func FuzzModule(f *testing.F) {
	f.Add([]byte(module(sound)))
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	dir := f.TempDir()
	tree := sim.Tree{"proc/sys/kernel/osrelease": sim.File{Data: kernel}, below + "modules.dep": sim.File{Data: "metax.ko.zst:\n"}, below + "metax.ko.zst": sim.File{}}
	if err := tree.Write(dir); err != nil {
		f.Fatal(err)
	}
	host, err := hostfs.New(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := sysfs.ReadModule(host, map[string]sysfs.Unpack{
			".zst": func(io.Reader) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		})
		if (m.Version == "") != (len(m.Warnings) == 1) || m.Version != "" && !bytes.Contains(data, []byte("version="+m.Version)) {
			t.Errorf("%+v", m)
		}
	})
}

// TestDriverMode: a module that is installed on the host is native, one that is not came from
// a container.
func TestDriverMode(t *testing.T) {
	for name, test := range map[string]struct {
		tree sim.Tree
		want string
	}{
		"installed":        {sim.Tree{below + "modules.dep": sim.File{Data: "kernel/x.ko:\nupdates/dkms/metax.ko.zst: kernel/x.ko\n"}}, gpu.DriverNative},
		"not installed":    {sim.Tree{below + "modules.dep": sim.File{Data: "kernel/x.ko:\nkernel/metaxx.ko: kernel/x.ko\n"}}, gpu.DriverCloud},
		"no list":          {sim.Tree{below + "modules.alias": sim.File{}}, ""},
		"of other kernels": {sim.Tree{"lib/modules/6.1.0/modules.dep": sim.File{Data: "updates/metax.ko:\n"}}, ""},
	} {
		test.tree["proc/sys/kernel/osrelease"] = sim.File{Data: kernel + "\n"}
		root := simtest.Write(t, test.tree)
		if got := sysfs.DriverMode(root); got != test.want {
			t.Errorf("%s: mode is %q, want %q", name, got, test.want)
		}
	}
}
