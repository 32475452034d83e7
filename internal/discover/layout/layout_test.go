// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/gputest"
)

// files are the files below /sys/class/mxcd/mxcd/layout/nodes, or elsewhere if the path is
// absolute. A text that is an error is what reading the file gives.
type files map[string]any

func (f files) at(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return "/sys/class/mxcd/mxcd/layout/nodes/" + name
}

func (f files) ReadFile(path string) ([]byte, error) {
	for name, content := range f {
		if f.at(name) == path {
			if err, bad := content.(error); bad {
				return nil, &fs.PathError{Op: "read", Path: path, Err: err}
			}
			return []byte(content.(string)), nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func (f files) ReadDir(path string) ([]string, error) {
	names := map[string]bool{}
	for name, content := range f {
		if below, ok := strings.CutPrefix(f.at(name), path+"/"); ok {
			first, _, _ := strings.Cut(below, "/")
			names[first] = true
		} else if err, bad := content.(error); bad && f.at(name) == path {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
	if len(names) == 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// with returns the files with some changed; nil removes a file.
func (f files) with(change files) files {
	f = maps.Clone(f)
	for name, content := range change {
		if content == nil {
			delete(f, name)
		} else {
			f[name] = content
		}
	}
	return f
}

func bdf(bus uint8) gpu.BDF { return gpu.BDF{Bus: bus} }

// quad is a node with two processors and three GPUs of which the first two have MetaXLink.
func quad() files {
	f := files{}
	for cpu := range 2 {
		f[fmt.Sprintf("%d/type", cpu)], f[fmt.Sprintf("%d/gpu_id", cpu)] = "cpu\n", "0\n"
	}
	for i := range 3 {
		dir := fmt.Sprintf("%d/", i+2)
		f[dir+"type"], f[dir+"gpu_id"] = "gpu\n", fmt.Sprintf("%d\n", 10000+i)
		f[dir+"location"] = bdf(uint8(0x0e+i)).String() + "\n"
		f[dir+"unique_id"], f[dir+"active"] = fmt.Sprintf("id-%d\n", i), "1\n"
		f[dir+"direct_links/0/properties"] = fmt.Sprintf("type 3\nfrom %d\nto 0\ndistance 20\n", i+2)
		for j := range 3 {
			if j != i {
				kind := 104
				if i+j == 1 {
					kind = 4
				}
				f[fmt.Sprintf("%sdirect_links/%d/properties", dir, j+1)] = fmt.Sprintf("type %d\nfrom %d\nto %d\n", kind, i+2, j+2)
			}
		}
	}
	return f
}

// seen is what a test compares of a layout.
type seen struct {
	GPUs  map[string]layout.GPU
	Links map[string]string // "0e-0f" → the kind; "-" if it is unknown
}

func look(l layout.Layout) seen {
	s := seen{GPUs: map[string]layout.GPU{}, Links: map[string]string{}}
	for b, g := range l.GPUs {
		s.GPUs[b.String()] = g
		for other := range l.GPUs {
			if b.Compare(other) < 0 {
				kind, ok := l.LinkKind(b, other)
				word := kind.String()
				if !ok {
					word = "-"
				}
				s.Links[fmt.Sprintf("%02x-%02x", b.Bus, other.Bus)] = word
			}
		}
	}
	return s
}

func want(states [3]layout.State, links string) seen {
	s := seen{GPUs: map[string]layout.GPU{}, Links: map[string]string{}}
	for i, state := range states {
		s.GPUs[bdf(uint8(0x0e+i)).String()] = layout.GPU{UUID: gpu.UUID(fmt.Sprintf("GPU-id-%d", i)), State: state}
	}
	words := strings.Fields(links)
	s.Links["0e-0f"], s.Links["0e-10"], s.Links["0f-10"] = words[0], words[1], words[2]
	return s
}

var allAvailable = [3]layout.State{layout.Available, layout.Available, layout.Available}

func compare(t *testing.T, want seen, got layout.Layout, warnings ...string) {
	t.Helper()
	if diff := cmp.Diff(want, look(got), cmpopts.IgnoreUnexported(layout.GPU{})); diff != "" {
		t.Error(diff)
	}
	gputest.WantWarnings(t, warnings, got.Warnings)
}

func TestRead(t *testing.T) {
	compare(t, want(allAvailable, "MX NODE NODE"), layout.Read(quad(), true))
	compare(t, want(allAvailable, "- - -"), layout.Read(quad(), false))
	compare(t, seen{GPUs: map[string]layout.GPU{}, Links: map[string]string{}}, layout.Read(files{}, true))

	// The first of the class's directories counts, even if it is empty.
	moved := files{}
	for name, content := range quad() {
		moved["/sys/class/metax/mxcd/layout/nodes/"+name] = content
	}
	compare(t, want(allAvailable, "MX NODE NODE"), layout.Read(moved, true))
	compare(t, seen{GPUs: map[string]layout.GPU{}, Links: map[string]string{}}, layout.Read(quad().with(files{"/sys/class/metax/mxcd/manager": "1"}), true))
}

// TestReadOdd: whatever is wrong costs what it is about, and nothing else.
func TestReadOdd(t *testing.T) {
	with := func(states [3]layout.State, links string, change func(map[string]layout.GPU)) seen {
		s := want(states, links)
		change(s.GPUs)
		return s
	}
	same := func(map[string]layout.GPU) {}
	first := bdf(0x0e).String()
	for _, test := range []struct {
		name     string
		change   files
		want     seen
		warnings []string
	}{
		{"unavailable", files{"2/active": "0\n", "2/inactive_reason": "7\nfirmware hung\n"}, with(allAvailable, "MX NODE NODE", func(g map[string]layout.GPU) {
			g[first] = layout.GPU{UUID: "GPU-id-0", State: layout.Unavailable, Code: 7, Reason: "firmware hung"}
		}), nil},
		{"a reason of an available GPU", files{"2/inactive_reason": "7\nfirmware hung\n"}, want(allAvailable, "MX NODE NODE"), nil},
		{"no active", files{"2/active": nil}, with([3]layout.State{0, layout.Available, layout.Available}, "MX NODE NODE", same), nil},
		{"active is no number", files{"2/active": "yes\n"}, with([3]layout.State{0, layout.Available, layout.Available}, "MX NODE NODE", same), []string{"nodes/2/active: want a number"}},
		{"active cannot be read", files{"2/active": errors.New("input/output error")}, with([3]layout.State{0, layout.Available, layout.Available}, "MX NODE NODE", same), []string{"nodes/2/active: input/output error"}},
		{"not for this user", files{"2/active": fs.ErrPermission, "2/unique_id": fs.ErrPermission}, with(allAvailable, "MX NODE NODE", func(g map[string]layout.GPU) { g[first] = layout.GPU{} }), nil},
		{"a UUID twice", files{"2/unique_id": "ID-1\n"}, with(allAvailable, "MX NODE NODE", func(g map[string]layout.GPU) {
			g[first], g[bdf(0x0f).String()] = layout.GPU{State: layout.Available}, layout.GPU{State: layout.Available}
		}), []string{"ignored the UUID GPU-ID-1: GPUs 0000:0e:00.0 and 0000:0f:00.0 both have it"}},
		{"no UUID", files{"2/unique_id": "\n"}, with(allAvailable, "MX NODE NODE", func(g map[string]layout.GPU) { g[first] = layout.GPU{State: layout.Available} }), nil},
		{"no UUID but a text", files{"2/unique_id": "a b\n"}, with(allAvailable, "MX NODE NODE", func(g map[string]layout.GPU) { g[first] = layout.GPU{State: layout.Available} }), []string{"nodes/2/unique_id: parse"}},
		{"an address twice", files{"9/location": bdf(0x0e).String(), "9/active": "0\n", "9/unique_id": "other\n"}, with(allAvailable, "- - NODE", func(g map[string]layout.GPU) {
			g[first] = layout.GPU{State: layout.Unavailable}
		}), []string{"nodes 2 and 9 both have the address 0000:0e:00.0"}},
		{"a slice at the address", files{"9/location": bdf(0x0e).String(), "9/type": "sgpu-sub-dev\n", "9/active": "0\n"}, want(allAvailable, "MX NODE NODE"), nil},
		{"a slice's parent", files{"2/type": "sgpu-parent-dev\n"}, want(allAvailable, "MX NODE NODE"), nil},
		{"no address", files{"9/location": "0e:00.0\n"}, want(allAvailable, "MX NODE NODE"), []string{"nodes/9/location: parse"}},
		{"a host bridge's", files{"9/location": "0000:00:00.0\n"}, want(allAvailable, "MX NODE NODE"), []string{"nodes/9/location: parse"}},
		{"not a number", files{"x/location": "0000:33:00.0\n", "07/location": "0000:34:00.0\n", "70000/location": "0000:35:00.0\n"}, want(allAvailable, "MX NODE NODE"), nil},
		{"one row", files{"2/direct_links/2/properties": nil}, want(allAvailable, "MX NODE NODE"), nil},
		{"rows that differ", files{"2/direct_links/2/properties": "type 105\nto 3\n", "2/direct_links/3/properties": "type 105\nto 4\n"}, want(allAvailable, "SYS SYS NODE"), []string{"GPU 0000:0e:00.0 has a link of the kind SYS to 0000:0f:00.0, and that one of the kind MX back; the weaker counts"}},
		{"no rows for a pair", files{"2/direct_links/2/properties": nil, "3/direct_links/1/properties": nil}, want(allAvailable, "NA NODE NODE"), nil},
		{"no rows of a GPU", files{"4/direct_links/1/properties": nil, "4/direct_links/2/properties": nil, "2/direct_links/3/properties": nil}, want(allAvailable, "MX - NODE"), nil},
		{"Ethernet", files{"2/direct_links/2/properties": "type 5\nto 3\n", "3/direct_links/1/properties": "type 5\nto 2\n"}, want(allAvailable, "NA NODE NODE"), nil},
		{"an unknown type", files{"2/direct_links/2/properties": "type 77\nto 3\n"}, want(allAvailable, "MX NODE NODE"), nil},
		{"only an unknown type", files{"2/direct_links/2/properties": "type 77\nto 3\n", "3/direct_links/1/properties": "type 77\nto 2\n"}, want(allAvailable, "- NODE NODE"), nil},
		{"to nowhere", files{"2/direct_links/9/properties": "type 4\nto 42\n", "2/direct_links/8/properties": "type 4\nto 2\n"}, want(allAvailable, "MX NODE NODE"), nil},
		{"no directory", files{"2/direct_links/README": "text"}, want(allAvailable, "MX NODE NODE"), nil},
		{"direct before indirect", files{"2/indirect_links/0/properties": "type 105\nto 3\n", "2/direct_links/3/properties": nil, "4/direct_links/1/properties": nil, "2/indirect_links/1/properties": "type 105\nto 4\n"}, want(allAvailable, "MX SYS NODE"), nil},
		{"rows that cannot be read", files{"2/direct_links/2/properties": fs.ErrPermission}, want(allAvailable, "MX NODE NODE"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			compare(t, test.want, layout.Read(quad().with(test.change), true), test.warnings...)
		})
	}
}

// TestReadUnread: a node whose address cannot be read may be that of any GPU.
func TestReadUnread(t *testing.T) {
	for name, change := range map[string]files{
		"address":     {"2/location": fs.ErrPermission},
		"type":        {"2/type": fs.ErrPermission},
		"not parsed":  {"2/location": "PCI 14\n"},
		"the nodes":   {"/sys/class/mxcd/mxcd/layout/nodes": fs.ErrPermission, "2/location": nil, "2/type": nil, "2/gpu_id": nil, "2/unique_id": nil, "2/active": nil},
		"not at all":  {"/sys/class/mxcd/mxcd": fs.ErrPermission},
		"not a class": {"/sys/class/metax/mxcd": fs.ErrPermission},
	} {
		if name == "the nodes" || name == "not at all" || name == "not a class" {
			l := layout.Read(change.with(nil), true)
			if l.Unread == nil || len(l.GPUs) > 0 || len(l.Warnings) > 0 {
				t.Errorf("%s: %+v", name, l)
			}
			continue
		}
		l := layout.Read(quad().with(change), true)
		if _, found := l.GPUs[bdf(0x0e)]; l.Unread == nil || found || len(l.GPUs) != 2 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := layout.Read(quad(), true); l.Unread != nil {
		t.Errorf("of a whole layout: %v", l.Unread)
	}
}

// hanging never answers to one path.
type hanging struct {
	files
	path  string
	never chan struct{}
}

func (h hanging) wait(path string) {
	if path == h.at(h.path) {
		<-h.never
	}
}

func (h hanging) ReadFile(path string) ([]byte, error) { h.wait(path); return h.files.ReadFile(path) }

func (h hanging) ReadDir(path string) ([]string, error) { h.wait(path); return h.files.ReadDir(path) }

// TestReadHanging: a file that never answers costs the patience and what would be read after
// it.
func TestReadHanging(t *testing.T) {
	none := seen{GPUs: map[string]layout.GPU{}, Links: map[string]string{}}
	two := want(allAvailable, "- - -")
	delete(two.GPUs, bdf(0x10).String())
	two.Links = map[string]string{"0e-0f": "-"}
	for path, want := range map[string]seen{
		"/sys/class/metax/mxcd":             none,
		"/sys/class/mxcd/mxcd/layout/nodes": none,
		"4/unique_id":                       two,
		"3/direct_links/1/properties":       want(allAvailable, "MX NODE -"),
	} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hanging{quad(), path, make(chan struct{})}
				began := time.Now()
				l := layout.Read(h, true)
				if took := time.Since(began); took != layout.Patience {
					t.Errorf("took %s, want %s", took, layout.Patience)
				}
				if !errors.Is(l.Late, layout.ErrLate) || !strings.Contains(l.Late.Error(), h.at(path)) {
					t.Errorf("late is %v, want ErrLate with %s", l.Late, h.at(path))
				}
				compare(t, want, l, h.at(path)+": no answer within 50ms")
				close(h.never) // the goroutine ends
			})
		})
	}
}

// TestReadHangingForever: in a program that looks for weeks, few reads wait at a time.
func TestReadHangingForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hanging{quad(), "4/unique_id", make(chan struct{})}
		for look := range 9 {
			began := time.Now()
			l := layout.Read(h, true)
			if took, want := time.Since(began), layout.Patience; look < 4 && took != want || look >= 4 && took != 0 || !errors.Is(l.Late, layout.ErrLate) {
				t.Errorf("look %d took %s: %v", look, took, l.Late)
			}
		}
		close(h.never)
		synctest.Wait()
		compare(t, want(allAvailable, "MX NODE NODE"), layout.Read(h, true))
	})
}

// slow answers late, but not too late, to every question.
type slow struct {
	files
	wait func()
}

func (s slow) ReadFile(path string) ([]byte, error) { s.wait(); return s.files.ReadFile(path) }

// TestReadSlow: the reading as a whole has a limit.
func TestReadSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := layout.Read(slow{quad(), func() { time.Sleep(9 * layout.Patience / 10 / 4) }}, true)
		if l.Late != nil {
			t.Errorf("a slow driver is late: %v", l.Late)
		}
		big := files{}
		for i := range 200 {
			big[fmt.Sprintf("%d/location", i)] = bdf(uint8(i)).String()
		}
		l = layout.Read(slow{big, func() { time.Sleep(layout.Patience / 5) }}, true)
		if took := time.Since(began); !errors.Is(l.Late, layout.ErrLate) || took > 3*time.Second {
			t.Errorf("after %s: %v", took, l.Late)
		}
	})
}
