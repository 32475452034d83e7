// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// host is a simulated node with some GPUs.
func host(t *testing.T, gpus int) *hostfs.Root {
	t.Helper()
	n := simtest.Node(t, fmt.Sprintf("sim:1x1x%d", gpus))
	for i := range n.GPUs { // with SR-IOV also where the model has none
		n.GPUs[i].SRIOV = gpu.SRIOVOff
	}
	tree, err := sim.HostTree(n)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "host")
	if err := tree.WriteInert(dir); err != nil {
		t.Fatal(err)
	}
	root := simtest.Root(t, dir)
	return root
}

// broken fails at some calls, counted from 1.
type broken struct {
	Bus
	calls  int
	fails  func(call int) bool
	ignore bool // it says that all is well
}

var errBroken = errors.New("input/output error")

func (b *broken) fail() bool { b.calls++; return b.fails != nil && b.fails(b.calls) }

func (b *broken) SetVFs(g gpu.BDF, n int) error {
	if !b.fail() {
		return b.Bus.SetVFs(g, n)
	}
	if b.ignore {
		return nil
	}
	return errBroken
}

func (b *broken) Bind(g gpu.BDF, driver string) error {
	if !b.fail() {
		return b.Bus.Bind(g, driver)
	}
	if b.ignore {
		return nil
	}
	return errBroken
}

func nobody(context.Context, []gpu.BDF) ([]string, error) { return nil, nil }

// counts are the numbers of virtual functions of the GPUs, as sysfs shows them and as the
// driver says.
func counts(t *testing.T, root *hostfs.Root) string {
	t.Helper()
	cards, err := readCards(root)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, c := range cards {
		text := fmt.Sprint(len(c.VFs))
		if c.count != len(c.VFs) {
			text += fmt.Sprintf("(%d)", c.count)
		}
		for _, s := range c.Slices {
			if len(s.Nodes) != 2 {
				t.Errorf("virtual function %s has the nodes %v", s.BDF, s.Nodes)
			}
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

func number(n int) protocol.VFWish { return protocol.VFWish{Named: true, Count: n} }

// write replaces a file of GPU i.
func write(t *testing.T, root *hostfs.Root, i int, name, text string) {
	t.Helper()
	kernel, err := sysfs.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, root.Join(filepath.Join(sysfs.DevicesDir, kernel.GPUs[i].BDF.String(), name)), text, 0o644)
}

// TestVFs has a node, a wish, and what follows.
func TestVFs(t *testing.T) {
	for _, test := range []struct {
		what    string
		before  int // virtual functions that the agent made before
		wish    protocol.VFWish
		users   Users
		fails   func(call int) bool
		ignore  bool
		prepare func(*testing.T, *hostfs.Root)
		counts  string
		report  string // REASON part of the message; "" is none
	}{
		{what: "four", wish: number(4), counts: "4 4", report: "true  4 virtual functions on each of 2 GPUs"},
		{what: "eight", wish: number(8), counts: "8 8", report: "true  8 virtual functions"},
		{what: "another number", before: 2, wish: number(8), counts: "8 8", report: "true  8 virtual functions"},
		{what: "the same number", before: 2, wish: number(2), users: busy, counts: "2 2", report: "true  2 virtual functions"},
		{what: "none", before: 2, wish: number(0), counts: "0 0", report: "true  2 GPUs without virtual functions"},
		{what: "no longer named", before: 2, counts: "0 0"},
		{what: "no longer named, in use", before: 2, users: busy, counts: "2 2", report: "false InUse in use by pod a/b; they change"},
		{what: "never named", prepare: others, counts: "1 0"},
		{what: "made by others, none", prepare: others, wish: number(0), counts: "0 0", report: "true  2 GPUs without"},
		{what: "in use", wish: number(4), users: busy, counts: "0 0", report: "false InUse the GPUs stay as they are: in use by pod a/b"},
		{what: "users cannot be seen", wish: number(4), users: unseen, counts: "0 0", report: "false InUse it cannot be seen who uses them: no kubelet"},
		{what: "a bad number", before: 2, wish: protocol.VFWish{Named: true, Problem: "vfnum 3"}, counts: "2 2", report: "false InvalidConfig the GPUs stay as they are: ConfigMap driver-config: vfnum 3"},
		{what: "a mistake elsewhere", before: 2, wish: protocol.VFWish{Problem: "no entry"}, counts: "2 2", report: "false InvalidConfig the GPUs stay as they are: ConfigMap driver-config: no entry"},
		{what: "a mistake elsewhere, nothing made", wish: protocol.VFWish{Problem: "no entry"}, counts: "0 0"},
		{what: "more than a GPU can have", before: 2, wish: number(8), prepare: func(t *testing.T, r *hostfs.Root) { write(t, r, 1, "sriov_totalvfs", "4\n") }, counts: "2 2", report: "false Unsupported can have 4 virtual functions, not 8"},
		{what: "an unreadable GPU", before: 2, wish: number(8), prepare: func(t *testing.T, r *hostfs.Root) { write(t, r, 1, "sriov_totalvfs", "many\n") }, report: "false LookFailed read sriov_totalvfs of GPU"},
		{what: "slice mode", wish: number(2), prepare: func(t *testing.T, r *hostfs.Root) { write(t, r, 1, "model", "sgpu\n") }, counts: "0 0", report: "false Unsupported is in slice mode"},
		{what: "the first fails", wish: number(4), fails: func(c int) bool { return c == 1 }, counts: "0 0", report: "false ChangeFailed input/output error; the GPUs are again as they were"},
		{what: "the second fails", wish: number(4), fails: func(c int) bool { return c == 2 }, counts: "0 0", report: "false ChangeFailed the GPUs are again as they were"},
		{what: "the last of a change fails", before: 2, wish: number(4), fails: func(c int) bool { return c == 4 }, counts: "2 2", report: "false ChangeFailed the GPUs are again as they were"},
		{what: "the driver does not follow", before: 2, wish: number(4), fails: func(c int) bool { return c == 3 || c == 4 }, ignore: true, counts: "2 2", report: "false ChangeFailed the driver did not follow: GPU"},
		{what: "nothing works any more", wish: number(4), fails: func(c int) bool { return c >= 2 }, counts: "4 0", report: "false ChangeFailed and the GPUs could not be made what they were"},
	} {
		t.Run(test.what, func(t *testing.T) {
			root := host(t, 2)
			bus := &broken{Bus: NewBus(root)}
			v := &VFs{Host: root, Bus: bus, Users: nobody, Record: Record(filepath.Join(t.TempDir(), "r")), Now: func() time.Time { return time.Time{} }}
			if test.before > 0 {
				if r, ok := v.Step(t.Context(), number(test.before)); !ok || !r.Ready {
					t.Fatal(r)
				}
			}
			if test.prepare != nil {
				test.prepare(t, root)
			}
			*bus = broken{Bus: bus.Bus, fails: test.fails, ignore: test.ignore}
			if test.users != nil {
				v.Users = test.users
			}
			r, ok := v.Step(t.Context(), test.wish)
			if got := fmt.Sprint(r.Ready, " ", r.Reason); ok != (test.report != "") || ok && (!strings.HasPrefix(test.report, got+" ") || !strings.Contains(r.Message, strings.TrimPrefix(test.report, got+" "))) {
				t.Errorf("got %t %s: %s", ok, got, r.Message)
			}
			if test.counts == "" {
				return
			}
			if d := cmp.Diff(test.counts, counts(t, root)); d != "" {
				t.Error(d)
			}
			calls := bus.calls
			again, _ := v.Step(t.Context(), test.wish)
			if bus.calls != calls || again != r {
				t.Errorf("the next step changes something: %+v", again)
			}
		})
	}
}

func busy(context.Context, []gpu.BDF) ([]string, error)   { return []string{"pod a/b"}, nil }
func unseen(context.Context, []gpu.BDF) ([]string, error) { return nil, errors.New("no kubelet") }

// others makes a virtual function that is not the agent's.
func others(t *testing.T, root *hostfs.Root) {
	t.Helper()
	cards, err := readCards(root)
	if err == nil {
		err = NewBus(root).SetVFs(cards[0].BDF, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestVFsKilled ends an agent before each call that changes something. The next agent does
// what is wished; with a ConfigMap that became bad meanwhile, what was before.
func TestVFsKilled(t *testing.T) {
	for _, call := range []int{1, 2, 3, 4} {
		for wish, want := range map[protocol.VFWish]string{number(4): "4 4", {Named: true, Problem: "x"}: "2 2", {}: "0 0"} {
			root := host(t, 2)
			bus := &broken{Bus: NewBus(root)}
			record := Record(filepath.Join(t.TempDir(), "r"))
			v := VFs{Host: root, Bus: bus, Users: nobody, Record: record, Now: time.Now}
			if r, _ := v.Step(t.Context(), number(2)); !r.Ready {
				t.Fatal(r)
			}
			*bus = broken{Bus: bus.Bus, fails: func(c int) bool {
				if c == call {
					panic("killed")
				}
				return false
			}}
			func() {
				defer func() { recover() }()
				v.Step(t.Context(), number(4))
			}()
			next := VFs{Host: root, Bus: bus.Bus, Users: nobody, Record: record, Now: time.Now}
			next.Step(t.Context(), wish)
			if d := cmp.Diff(want, counts(t, root)); d != "" {
				t.Errorf("killed at call %d, then %+v: %s", call, wish, d)
			}
		}
	}
}

// TestVFsTriedAgain: a change that failed is tried again after a time.
func TestVFsTriedAgain(t *testing.T) {
	root := host(t, 2)
	now := time.Unix(1000, 0)
	bus := &broken{Bus: NewBus(root), fails: func(c int) bool { return c == 2 }}
	v := VFs{Host: root, Bus: bus, Users: nobody, Record: Record(filepath.Join(t.TempDir(), "r")), Now: func() time.Time { return now }}
	for _, test := range []struct {
		later time.Duration
		want  string
	}{{0, "0 0"}, {report.Patience - time.Second, "0 0"}, {time.Second, "4 4"}} {
		now = now.Add(test.later)
		v.Step(t.Context(), number(4))
		if got := counts(t, root); got != test.want {
			t.Errorf("after %s: %s, want %s", test.later, got, test.want)
		}
	}
}

// drivers are those of the GPUs.
func drivers(t *testing.T, root *hostfs.Root) string {
	t.Helper()
	cards, err := readCards(root)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, c := range cards {
		list = append(list, c.driver)
		if c.SetAside() != (c.driver == vfioDriver) || c.driver == "metax" && len(c.Nodes) != 2 {
			t.Errorf("GPU %s has the driver %q, the mode %q and the nodes %v", c.BDF, c.driver, c.Mode, c.Nodes)
		}
	}
	return strings.Join(list, " ")
}

// iommu switches the IOMMU of a simulated node on, and loads vfio-pci.
func iommu(t *testing.T, root *hostfs.Root) {
	t.Helper()
	cards, err := readCards(root)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cards {
		group := fmt.Sprintf("/sys/kernel/iommu_groups/%d", 20+i)
		if err := errors.Join(
			os.MkdirAll(root.Join(group), 0o755), os.MkdirAll(root.Join("/sys/bus/pci/drivers/vfio-pci/module"), 0o755),
			os.Symlink(group, root.Join(filepath.Join(sysfs.DevicesDir, c.BDF.String(), "iommu_group"))),
		); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVFIO has a node, the names of GPUs, and what follows.
func TestVFIO(t *testing.T) {
	const own = "metax metax metax metax"
	for _, test := range []struct {
		what    string
		before  []string // bound by the agent before
		wished  []string
		problem string
		unnamed bool
		off     bool // the IOMMU
		users   Users
		fails   func(call int) bool
		ignore  bool
		prepare func(*testing.T, *hostfs.Root)
		drivers string
		report  string
	}{
		{what: "nothing", drivers: own},
		{what: "an index and an address", wished: []string{"1", "0000:06:00.0"}, report: "", drivers: ""},
		{what: "a UUID", wished: []string{"gpu-b"}, drivers: "metax vfio-pci metax metax", report: "true  1 GPUs are bound to vfio-pci: "},
		{what: "another one", before: []string{"0", "1"}, wished: []string{"1", "3"}, drivers: "metax vfio-pci metax vfio-pci", report: "true  2 GPUs are bound"},
		{what: "no longer", before: []string{"0", "1"}, drivers: own},
		{what: "no IOMMU", wished: []string{"0"}, off: true, drivers: own, report: "false IOMMUDisabled intel_iommu=on"},
		{what: "no vfio-pci", wished: []string{"0"}, prepare: func(t *testing.T, r *hostfs.Root) { os.RemoveAll(r.Join("/sys/bus/pci/drivers/vfio-pci")) }, drivers: own, report: "false NoVFIODriver modprobe vfio-pci"},
		{what: "unknown", before: []string{"0"}, wished: []string{"0", "9"}, drivers: "vfio-pci metax metax metax", report: `false UnknownGPU this node has no GPU "9"`},
		{what: "a mistake", before: []string{"0"}, problem: "no list", drivers: "vfio-pci metax metax metax", report: "false InvalidConfig ConfigMap metax-vfio-config: no list"},
		{what: "a mistake elsewhere", before: []string{"0"}, problem: "no entry", unnamed: true, drivers: "vfio-pci metax metax metax", report: "false InvalidConfig ConfigMap metax-vfio-config: no entry"},
		{what: "a mistake elsewhere, nothing bound", problem: "no entry", unnamed: true, drivers: own},
		{what: "in use", before: []string{"0"}, wished: []string{"1"}, users: busy, drivers: "vfio-pci metax metax metax", report: "false InUse in use by pod a/b"},
		{what: "virtual functions", wished: []string{"0", "2"}, prepare: others, drivers: "MXGVM metax vfio-pci metax", report: "false Unsupported has virtual functions"},
		{what: "it fails", wished: []string{"0", "2"}, fails: func(c int) bool { return c == 1 }, drivers: "metax metax vfio-pci metax", report: "false ChangeFailed input/output error"},
		{what: "the driver does not take it", wished: []string{"0"}, fails: func(c int) bool { return c == 1 }, ignore: true, drivers: own, report: "false ChangeFailed the driver did not take it"},
		{what: "it stays", before: []string{"0", "1"}, fails: func(c int) bool { return c == 1 }, drivers: "vfio-pci metax metax metax", report: "false ChangeFailed could not be given back"},
	} {
		t.Run(test.what, func(t *testing.T) {
			root := host(t, 4)
			if !test.off {
				iommu(t, root)
			}
			cards, err := readCards(root)
			if err != nil {
				t.Fatal(err)
			}
			if test.what == "an index and an address" {
				test.wished[1] = strings.ToUpper(cards[3].BDF.String())
				test.drivers, test.report = "metax vfio-pci metax vfio-pci", "true  2 GPUs are bound to vfio-pci: "+formatAddresses([]gpu.BDF{cards[1].BDF, cards[3].BDF})
			}
			bus := &broken{Bus: NewBus(root)}
			v := VFIO{Host: root, Bus: bus, Users: nobody, Record: Record(filepath.Join(t.TempDir(), "r")), UUIDs: func(context.Context) map[gpu.BDF]gpu.UUID {
				return map[gpu.BDF]gpu.UUID{cards[1].BDF: "GPU-b"}
			}}
			if len(test.before) > 0 {
				if r, _ := v.Step(t.Context(), protocol.VFIOWish{Named: true, GPUs: test.before}); !r.Ready {
					t.Fatal(r)
				}
			}
			if test.prepare != nil {
				test.prepare(t, root)
			}
			bus.calls, bus.fails, bus.ignore = 0, test.fails, test.ignore
			if test.users != nil {
				v.Users = test.users
			}
			r, ok := v.Step(t.Context(), protocol.VFIOWish{Named: !test.unnamed, GPUs: test.wished, Problem: test.problem})
			if got := fmt.Sprint(r.Ready, " ", r.Reason); ok != (test.report != "") || ok && (!strings.HasPrefix(test.report, got+" ") || !strings.Contains(r.Message, strings.TrimPrefix(test.report, got+" "))) {
				t.Errorf("got %t %s: %s", ok, got, r.Message)
			}
			if d := cmp.Diff(test.drivers, drivers(t, root)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestVFsLeaveProc: the agent's pod has no /proc of the simulated node that it could change.
func TestVFsLeaveProc(t *testing.T) {
	root := host(t, 2)
	proc := root.Join("/proc")
	if err := os.RemoveAll(proc); err != nil {
		t.Fatal(err)
	}
	v := VFs{Host: root, Bus: NewBus(root), Users: nobody, Record: Record(filepath.Join(t.TempDir(), "r")), Now: time.Now}
	if r, _ := v.Step(t.Context(), number(2)); !r.Ready {
		t.Fatal(r)
	}
	if _, err := os.Lstat(proc); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("/proc of the node is written: %v", err)
	}
}

// TestVFIOBack gives all GPUs to vfio-pci, and takes them back: the tree is as before.
func TestVFIOBack(t *testing.T) {
	root := host(t, 4)
	iommu(t, root)
	before := files(t, root)
	v := VFIO{Host: root, Bus: NewBus(root), Users: nobody, Record: Record(filepath.Join(t.TempDir(), "r")), UUIDs: func(context.Context) map[gpu.BDF]gpu.UUID { return nil }}
	if r, _ := v.Step(t.Context(), protocol.VFIOWish{Named: true, GPUs: []string{"0", "1", "2", "3"}}); !r.Ready || !root.Exists("/dev/vfio/22") {
		t.Fatal(r)
	}
	if r, ok := v.Step(t.Context(), protocol.VFIOWish{}); ok {
		t.Fatal(r)
	}
	if d := cmp.Diff(before, files(t, root)); d != "" {
		t.Error(d)
	}
}

// files are the paths of a tree.
func files(t *testing.T, root *hostfs.Root) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root.Dir(), func(at string, e os.DirEntry, err error) error {
		if !e.IsDir() {
			list = append(list, at)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestKernel has the files that are written, and what is written into them.
func TestKernel(t *testing.T) {
	dir := t.TempDir()
	b := gpu.BDF{Bus: 0x0e}
	for _, name := range []string{"devices/0000:0e:00.0/sriov_numvfs", "devices/0000:0e:00.0/driver_override", "devices/0000:0e:00.0/driver/unbind", "drivers_probe"} {
		name = filepath.Join(dir, "sys/bus/pci", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	root := simtest.Root(t, dir)
	k := Kernel{root}
	if err := errors.Join(k.SetVFs(b, 4), k.Bind(b, "vfio-pci")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"devices/0000:0e:00.0/sriov_numvfs": "4", "devices/0000:0e:00.0/driver_override": "vfio-pci\n",
		"devices/0000:0e:00.0/driver/unbind": "0000:0e:00.0", "drivers_probe": "0000:0e:00.0",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, "sys/bus/pci", name)); err != nil || string(text) != want {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	if err := k.SetVFs(gpu.BDF{Bus: 1}, 4); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a GPU that is not there: %v", err)
	}
}

func TestPods(t *testing.T) {
	n := gpu.Node{GPUs: []gpu.GPU{{BDF: gpu.BDF{Bus: 1}, UUID: "GPU-a"}, {BDF: gpu.BDF{Bus: 2}, UUID: "GPU-b"}}}
	of := func(pod, resource string, ids ...string) podresources.Container {
		return podresources.Container{Namespace: "x", Pod: pod, Devices: map[string][]string{resource: ids}}
	}
	got := pods(n, []gpu.BDF{{Bus: 1}}, []podresources.Container{
		of("whole", "metax-tech.com/gpu", "GPU-a"), of("part", "metax-tech.com/gpu", "GPU-a-vf0"), of("other", "metax-tech.com/gpu", "GPU-b"),
		of("vm", "metax-tech.com/vfio-gpu", "0000:01:00.0"), of("slice", "metax-tech.com/sgpu", "GPU-c-sgpu1"), of("nic", "rdma/hca", "GPU-a"),
	})
	if d := cmp.Diff([]string{"pod x/part", "pod x/slice", "pod x/vm", "pod x/whole"}, got); d != "" {
		t.Error(d)
	}
}

func TestReadConfig(t *testing.T) {
	dir := t.TempDir()
	if data, err := ReadConfig(filepath.Join(dir, "absent")); data != nil || err != nil {
		t.Errorf("%v %v", data, err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "..1"), 0o755), os.WriteFile(filepath.Join(dir, "..1", "key"), []byte("text"), 0o644),
		os.Symlink("..1", filepath.Join(dir, "..data")), os.Symlink("..data/key", filepath.Join(dir, "key"))); err != nil {
		t.Fatal(err)
	}
	data, err := ReadConfig(dir)
	if d := cmp.Diff(map[string]string{"key": "text"}, data); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	testfile.Symlink(t, "/etc/passwd", filepath.Join(dir, "out"))
	if _, err := ReadConfig(dir); err == nil {
		t.Error("it follows a link out of the directory")
	}
}

func TestMinors(t *testing.T) {
	m := minors{0: true, 128: true}
	var list []string
	for range 65 {
		list = append(list, m.pair()...)
	}
	slices.Sort(list)
	if got := len(slices.Compact(list)); got != 130 || !m[193] {
		t.Errorf("%d names", got)
	}
}
