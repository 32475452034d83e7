// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// simulated are the devices of a simulated node whose host tree is written.
func simulated(t testing.TB) (Devices, gpu.Node, *hostfs.Root) {
	t.Helper()
	node, tree := simtest.Host(t, "c500-8")
	root := simtest.Write(t, tree)
	return NewDevices(node, root), node, root
}

func TestDevicesCDI(t *testing.T) {
	d, node, _ := simulated(t)
	at := func(indices ...int) []gpu.BDF { return d.Indices(indices...) }
	for name, want := range map[string][]gpu.BDF{
		"metax-tech.com/gpu=0":                            at(0),
		"metax-tech.com/gpu=7":                            at(7),
		"metax-tech.com/gpu=8":                            nil,
		"metax-tech.com/gpu=all":                          at(0, 1, 2, 3, 4, 5, 6, 7),
		"metax-tech.com/gpu=" + node.GPUs[3].BDF.String(): at(3),
		"metax-tech.com/gpu=" + string(node.GPUs[5].UUID): at(5),
		"metax-tech.com/gpu=" + node.GPUs[2].Serial:       at(2),
		"metax-tech.com/gpu=":                             nil,
		"metax-tech.com/gpu=none":                         nil,
		"metax-tech.com/gpu=]":                            nil,
		"metax-tech.com/maca=host":                        nil,
		"metax-tech.com/gpus=0":                           nil,
		"nvidia.com/gpu=0":                                nil,
		"nvidia.com/gpu=all":                              nil,
		"0":                                               nil,
		"all":                                             nil,
		"":                                                nil,
	} {
		if diff := cmp.Diff(want, d.CDI(name)); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}

func TestDevicesPath(t *testing.T) {
	d, node, root := simulated(t)
	everything := d.Indices(0, 1, 2, 3, 4, 5, 6, 7)
	for path, want := range map[string][]gpu.BDF{
		root.Join("/dev/dri/card1"):      d.Indices(0),
		root.Join("/dev/dri/renderD128"): d.Indices(0),
		root.Join("/dev/dri/renderD135"): d.Indices(7),
		root.Dir() + "/dev//dri/./card2": d.Indices(1),
		root.Join("/dev/dri"):            everything,
		root.Join("/dev/dri") + "/":      everything,
		root.Join("/dev"):                everything,
		"/":                              everything,
		root.Join("/dev/dri/card"):       nil,
		root.Join("/dev/dri/card1/x"):    nil,
		root.Join("/dev/dr"):             nil,
		root.Join("/dev/mxcd"):           nil,
		node.GPUs[0].Nodes[0]:            nil,
		"":                               nil,
	} {
		if diff := cmp.Diff(want, d.Path(path)); diff != "" {
			t.Errorf("%q: %s", path, diff)
		}
	}
}

func TestDevicesNumber(t *testing.T) {
	d, node, root := simulated(t)
	for _, g := range node.GPUs {
		for _, path := range g.Nodes {
			device, err := root.Device(path)
			if err != nil {
				t.Fatal(err)
			}
			if bdf, ok := d.Number(Number{device.Major, device.Minor}); !ok || bdf != g.BDF {
				t.Errorf("%s is of %v, %v; want %v", path, bdf, ok, g.BDF)
			}
		}
	}
	shared, err := root.Device("/dev/mxcd")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []Number{{shared.Major, shared.Minor}, {0, 0}, {226, 1000}} {
		if bdf, ok := d.Number(n); ok {
			t.Errorf("%v is of %v", n, bdf)
		}
	}
}

func TestDevicesIndices(t *testing.T) {
	d, node, _ := simulated(t)
	if d.Real() {
		t.Error("a simulated node is taken for this machine")
	}
	if !NewDevices(gpu.NewNode("host"), mustRoot(t, "/")).Real() {
		t.Error("this machine is taken for another")
	}
	want := []gpu.BDF{node.GPUs[1].BDF, node.GPUs[6].BDF}
	if diff := cmp.Diff(want, d.Indices(6, 1, 99, -1)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, usage.Sorted([]gpu.BDF{want[1], want[0], want[1]})); diff != "" {
		t.Error(diff)
	}
}

func mustRoot(t *testing.T, dir string) *hostfs.Root {
	t.Helper()
	root, err := hostfs.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestBundle(t *testing.T) {
	d, _, root := simulated(t)
	const deny = `{"allow": false, "access": "rwm"}`
	const privileged = `{"allow": true, "access": "rwm"}`
	device := func(kind string, minor int) string {
		return `{"path": "` + root.Join("/dev/x") + `", "type": "` + kind + `", "major": 226, "minor": ` + strconv.Itoa(minor) + `}`
	}
	linux := func(devices, rules string) string {
		return fmt.Sprintf(`{"linux": {"devices": [%s], "resources": {"devices": [%s]}}}`, devices, rules)
	}
	mount := func(path string) string {
		return fmt.Sprintf(`{"mounts": [{"destination": "/dev/dri/card1", "source": %q}], "linux": {}}`, path)
	}
	for name, c := range map[string]struct {
		text string
		want usage.Facts
	}{
		"nothing":                      {text: `{}`},
		"null":                         {text: `null`},
		"a virtual machine":            {text: `{"mounts": [{"source": "` + root.Join("/dev/dri/card1") + `"}]}`},
		"plain":                        {text: linux("", deny)},
		"a lease":                      {text: `{"annotations": {"metax-tech.com/lease": "aaaaaaaaaaaa", "x": "y"}}`, want: usage.Facts{Lease: "aaaaaaaaaaaa"}},
		"a GPU":                        {text: linux(device("c", 1), deny), want: usage.Facts{GPUs: d.Indices(0)}},
		"an unbuffered device":         {text: linux(device("u", 128), deny), want: usage.Facts{GPUs: d.Indices(0)}},
		"a GPU twice, and another":     {text: linux(device("c", 130)+","+device("c", 1)+","+device("c", 128), deny), want: usage.Facts{GPUs: d.Indices(0, 2)}},
		"a block device of its number": {text: linux(device("b", 1), deny)},
		"a FIFO":                       {text: linux(`{"type": "p"}`, deny)},
		"another device":               {text: linux(`{"type": "c", "major": 1, "minor": 3}`, deny)},
		"a number out of range":        {text: linux(`{"type": "c", "major": 4294967522, "minor": 1}`, deny)},
		"a number below zero":          {text: linux(`{"type": "c", "major": -4294967070, "minor": 1}`, deny)},
		"privileged":                   {text: linux(device("c", 1), deny+","+privileged), want: usage.Facts{Privileged: true}},
		"privileged, with a lease":     {text: `{"annotations": {"metax-tech.com/lease": "aaaaaaaaaaaa"}, "linux": {"resources": {"devices": [` + privileged + `]}}}`, want: usage.Facts{Lease: "aaaaaaaaaaaa", Privileged: true}},
		"privileged, by type":          {text: linux("", `{"allow": true, "type": "a", "access": "rwm"}`), want: usage.Facts{Privileged: true}},
		"all may be made":              {text: linux(device("c", 1), `{"allow": true, "type": "c", "access": "m"}`), want: usage.Facts{GPUs: d.Indices(0)}},
		"all characters":               {text: linux(device("c", 1), `{"allow": true, "type": "c", "access": "rwm"}`), want: usage.Facts{GPUs: d.Indices(0)}},
		"all of one major":             {text: linux(device("c", 1), `{"allow": true, "type": "a", "major": 226, "access": "rwm"}`), want: usage.Facts{GPUs: d.Indices(0)}},
		"a user namespace":             {text: mount(root.Join("/dev/dri/renderD131")), want: usage.Facts{GPUs: d.Indices(3)}},
		"a directory of nodes":         {text: mount(root.Join("/dev/dri"))},
		"resources without devices":    {text: `{"linux": {"resources": {}}}`},
	} {
		got, err := d.Bundle([]byte(c.text), true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, text := range []string{"", "{", "[]", `{"linux": {"devices": {}}}`, `{"annotations": {"metax-tech.com/lease": 5}}`} {
		if got, err := d.Bundle([]byte(text), true); err == nil || !cmp.Equal(got, usage.Facts{}) {
			t.Errorf("%q gives %+v, %v", text, got, err)
		}
	}
}

// What a container asks for counts where the shim or a hook may have served it.
func TestBundleOfPlainRuntime(t *testing.T) {
	d, _, _ := simulated(t)
	const asks = `"annotations": {"metax-tech.com/gpu": "3", "cdi.k8s.io/x": "metax-tech.com/gpu=4", "metax-tech.com/lease": "aaaaaaaaaaaa"},
		"mounts": [{"source": "/dev/null", "destination": "/var/run/metax-container-devices/5"}]`
	hook := func(stage, path, args string) string {
		return `, "hooks": {"poststop": [{"path": "/bin/true"}], "` + stage + `": [{"path": "` + path + `", "args": [` + args + `]}]}`
	}
	const devices = `, "linux": {"devices": [{"type": "c", "major": 226, "minor": 1}], "resources": {"devices": [{"allow": true, "access": "rwm"}]}}`
	all := d.Indices(3, 4, 5)
	for name, c := range map[string]struct {
		more string
		shim bool
		want usage.Facts
	}{
		"the shim":              {shim: true, want: usage.Facts{GPUs: all}},
		"runc":                  {want: usage.Facts{}},
		"our hook":              {more: hook("prestart", "/usr/bin/metax-hook", `"metax-hook", "prestart"`), want: usage.Facts{GPUs: all}},
		"our hook of any stage": {more: hook("createRuntime", "/opt/metax-hook", `"metax-hook", "prestart"`), want: usage.Facts{GPUs: all}},
		"a hook of a CDI spec":  {more: hook("createContainer", "/usr/bin/metax-hook", `"metax-hook", "update-ldcache"`), want: usage.Facts{}},
		"another's hook":        {more: hook("prestart", "/usr/bin/other-hook", `"other-hook", "prestart"`), want: usage.Facts{}},
		// CRI-O and containerd resolve CDI names, and a privileged container has all nodes.
		"privileged": {more: devices, want: usage.Facts{GPUs: d.Indices(4), Privileged: true}},
	} {
		c.want.Lease = "aaaaaaaaaaaa"
		got, err := d.Bundle([]byte("{"+asks+c.more+"}"), c.shim)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for path, want := range map[string]bool{
		"runc": true, "/usr/bin/crun": true, "/usr/sbin/runc": true, "": false, "/usr/bin/metax-runtime": false, "kata-runtime": false, "/opt/runc/": true,
	} {
		if got := PlainRuntime(path); got != want {
			t.Errorf("PlainRuntime(%q) is %t", path, got)
		}
	}
}

func FuzzBundle(f *testing.F) {
	d, _, root := simulated(f)
	for _, text := range []string{
		`{"linux": {"devices": [{"type": "c", "major": 226, "minor": 1}], "resources": {"devices": [{"allow": true, "access": "rwm"}]}}}`,
		`{"annotations": {"metax-tech.com/lease": "aaaaaaaaaaaa"}, "mounts": [{"source": "` + root.Join("/dev/dri/card1") + `"}], "linux": {}}`,
		`{"linux": {"devices": [{"type": "u", "major": 226, "minor": 130}, {"type": "c", "major": -1, "minor": 4294967297}]}}`,
		`{"linux": {"resources": null, "devices": [null]}}`, `null`, `[`,
		`{"annotations": {"metax-tech.com/gpu": "1,all", "cdi.k8s.io/x": "metax-tech.com/gpu=0"}, "linux": {"resources": {"devices": [{"allow": true, "access": "rwm"}]}}}`,
		`{"mounts": [{"source": "/dev/null", "destination": "/var/run/metax-container-devices/5"}, null]}`,
	} {
		f.Add([]byte(text))
	}
	every := d.Indices(0, 1, 2, 3, 4, 5, 6, 7)
	f.Fuzz(func(t *testing.T, text []byte) {
		facts, err := d.Bundle(text, true)
		switch {
		case err != nil && !cmp.Equal(facts, usage.Facts{}):
			t.Errorf("%+v besides an error", facts)
		case facts.Privileged && facts.GPUs != nil && !bytes.Contains(text, []byte("metax")) && !bytes.ContainsRune(text, '\\'):
			t.Errorf("privileged with GPUs %v that it did not ask for", facts.GPUs)
		}
		last := gpu.BDF{}
		for _, g := range facts.GPUs {
			if g.Compare(last) <= 0 || !usage.Overlap([]gpu.BDF{g}, every) {
				t.Errorf("GPUs are %v", facts.GPUs)
			}
			last = g
		}
		if again, _ := d.Bundle(text, true); !cmp.Equal(facts, again) {
			t.Errorf("%+v and then %+v", facts, again)
		}
	})
}

// A simulated node has the numbers and the names of real GPUs: what others have on the same
// machine is not its.
func TestStrangers(t *testing.T) {
	d, _, root := simulated(t)
	const card = `"type": "c", "major": 226, "minor": 1`
	for name, c := range map[string]struct {
		text string
		want []gpu.BDF
	}{
		"a real GPU":            {`{"linux": {"devices": [{"path": "/dev/dri/card1", ` + card + `}]}}`, nil},
		"with mounts":           {`{"mounts": [{"source": "/opt/mxdriver"}, {"source": "proc"}], "linux": {"devices": [{"path": "/dev/dri/card1", ` + card + `}]}}`, nil},
		"of another tree":       {`{"linux": {"devices": [{"path": "` + root.Dir() + `2/dev/dri/card1", ` + card + `}]}}`, nil},
		"by its path":           {`{"linux": {"devices": [{"path": "` + root.Join("/dev/dri/card1") + `", ` + card + `}]}}`, d.Indices(0)},
		"with its driver":       {`{"mounts": [{"source": "` + root.Join("/opt/mxdriver") + `"}], "linux": {"devices": [{"path": "/dev/dri/card1", ` + card + `}]}}`, d.Indices(0)},
		"by a name":             {`{"annotations": {"metax-tech.com/gpu": "1"}, "linux": {}}`, nil},
		"by a name of CDI":      {`{"annotations": {"cdi.k8s.io/x": "metax-tech.com/gpu=1"}, "linux": {}}`, nil},
		"by a mount for a name": {`{"mounts": [{"source": "/dev/null", "destination": "/var/run/metax-container-devices/1"}], "linux": {}}`, nil},
	} {
		got, err := d.Nameless().Bundle([]byte(c.text), true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(usage.Facts{GPUs: c.want}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := d.Nameless().CDI("metax-tech.com/gpu=0"); got != nil {
		t.Errorf("a name means %v", got)
	}
	// On the machine itself a number means its GPU wherever it appears.
	real := d
	real.root = "/"
	if got, err := real.Bundle([]byte(`{"linux": {"devices": [{"path": "/dev/x", `+card+`}]}}`), false); err != nil || len(got.GPUs) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
