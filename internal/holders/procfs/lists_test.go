// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/drmclients"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// The kernel's lists, without and with an entry.
const (
	emptyList = "             command  tgid dev master a   uid      magic\n"
	fullList  = emptyList + "              python    83   0   y    y     0          0\n"
)

// The lists of made-up cards are files of a directory; the process is a real one, and its GPU
// is /dev/full.
func TestLists(t *testing.T) {
	used, unused := gpu.BDF{Bus: 1}, gpu.BDF{Bus: 2}
	device, err := os.Open("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	holder := exec.Command("sleep", "1h")
	holder.ExtraFiles = []*os.File{device}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Wait()
	defer holder.Process.Kill()
	root, err := hostfs.New("/")
	if err != nil {
		t.Fatal(err)
	}
	devices := holders.NewDevices(gpu.Node{GPUs: []gpu.GPU{{BDF: used, Nodes: []string{"/dev/full"}}}}, root)
	of := func(g gpu.BDF) []usage.OpenList { return []usage.OpenList{{GPU: g}} }
	for name, c := range map[string]struct {
		lists map[string]string // by the minor number
		other bool              // the question names other lists
		want  usage.OpenLists   // of a look at processes; IDs are those of the files
		read  usage.OpenLists   // where the question names the lists
	}{
		"none": {},
		"as it is": {
			lists: map[string]string{"0": fullList, "1": emptyList}, want: usage.OpenLists{Confirmed: of(used), Empty: of(unused)},
			read: usage.OpenLists{Instead: true, InUse: []gpu.BDF{used}},
		},
		"wrong": {
			lists: map[string]string{"0": emptyList, "1": emptyList}, want: usage.OpenLists{Contradicted: true, Empty: of(unused)},
			read: usage.OpenLists{Instead: true},
		},
		"one lacks": {lists: map[string]string{"0": fullList}, want: usage.OpenLists{Confirmed: of(used)}},
		"another device": {
			lists: map[string]string{"0": fullList, "1": emptyList}, other: true,
			want: usage.OpenLists{Confirmed: of(used), Empty: of(unused)},
		},
		"no list": {lists: map[string]string{"0": "metax\n", "1": emptyList}, want: usage.OpenLists{Empty: of(unused)}},
	} {
		dir := t.TempDir()
		var named []usage.OpenList
		cards := map[gpu.BDF]uint32{used: 0, unused: 1}
		ids := map[gpu.BDF]uint64{}
		for bdf, minor := range map[gpu.BDF]string{used: "0", unused: "1"} {
			path := filepath.Join(dir, minor, "clients")
			var st unix.Stat_t
			if text, ok := c.lists[minor]; ok {
				if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600), unix.Stat(path, &st)); err != nil {
					t.Fatal(err)
				}
			}
			ids[bdf] = st.Ino
			if c.other {
				st.Ino++
			}
			named = append(named, usage.OpenList{GPU: bdf, ID: st.Ino})
		}
		for _, lists := range [][]usage.OpenList{c.want.Confirmed, c.want.Empty} {
			for i := range lists {
				lists[i].ID = ids[lists[i].GPU]
			}
		}
		p := New("/proc", -1)
		p.lists = drmclients.New(dir, func(*os.File) error { return nil })
		ask := func(q usage.Question) usage.Sight {
			s, err := Source{&scan{proc: p, devices: devices, cards: cards}, usage.Processes}.Look(t.Context(), q)
			if err != nil && !errors.Is(err, os.ErrPermission) {
				t.Fatal(err)
			}
			return s
		}
		s := ask(usage.Question{})
		if diff := cmp.Diff(c.want, s.Lists); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(s.Processes) != 1 || s.Processes[0].PID != holder.Process.Pid {
			t.Errorf("%s: processes %v", name, s.Processes)
		}
		s = ask(usage.Question{Lists: named})
		if !c.read.Instead {
			c.read = c.want
		}
		if diff := cmp.Diff(c.read, s.Lists); diff != "" {
			t.Errorf("%s: read instead: %s", name, diff)
		}
		if (s.Processes == nil) != c.read.Instead || (c.read.Instead && !s.Partial) {
			t.Errorf("%s: read instead: processes %v, partial %t", name, s.Processes, s.Partial)
		}
	}
	// A process that has closed the GPU meanwhile contradicts nothing.
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/0", 0o755), os.WriteFile(dir+"/0/clients", []byte(emptyList), 0o600)); err != nil {
		t.Fatal(err)
	}
	p := New("/proc", -1)
	p.lists = drmclients.New(dir, func(*os.File) error { return nil })
	s := &scan{proc: p, devices: devices, cards: map[gpu.BDF]uint32{used: 0}}
	seen := []usage.Process{{PID: os.Getppid(), GPUs: []gpu.BDF{used}}}
	if got := s.checkLists(t.Context(), nil, seen, true); got.Contradicted {
		t.Error("a process without the GPU contradicts its list")
	}
	if got := s.checkLists(t.Context(), nil, append(seen, usage.Process{PID: holder.Process.Pid, GPUs: []gpu.BDF{used}}), true); !got.Contradicted {
		t.Error("the process that has it does not")
	}
	// Entries that no process explains count if they were there before and after a complete look.
	if err := os.WriteFile(dir+"/0/clients", []byte(fullList), 0o600); err != nil {
		t.Fatal(err)
	}
	before := s.allLists()
	for name, c := range map[string]struct {
		before   map[gpu.BDF]drmclients.List
		complete bool
		want     int
	}{
		"before and after":        {before, true, 1},
		"after":                   {nil, true, 0},
		"another before":          {map[gpu.BDF]drmclients.List{used: {ID: before[used].ID + 1, InUse: true}}, true, 0},
		"empty before":            {map[gpu.BDF]drmclients.List{used: {ID: before[used].ID}}, true, 0},
		"the look ended too soon": {before, false, 0},
	} {
		if got := s.checkLists(t.Context(), c.before, nil, c.complete); len(got.Unnamed) != c.want || got.Empty != nil || got.Confirmed != nil {
			t.Errorf("entries %s: %+v", name, got)
		}
	}
	// As made by the package, the lists are the kernel's or none.
	if got := (&scan{proc: New("/proc", -1), cards: s.cards}).checkLists(t.Context(), nil, seen, true); len(got.Confirmed) > 0 || got.Contradicted {
		t.Errorf("this machine's lists: %+v", got)
	}
}
