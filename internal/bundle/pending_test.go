// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/hook/devcgroup"
	"github.com/metax-ctk/container-toolkit/internal/oci"
	"github.com/metax-ctk/container-toolkit/test/needs"
)

// actions are those of metax-hook in a CDI spec.
var actions = map[string][]string{"create-symlinks": {"link", "new-link"}, "update-ldcache": {"folder"}}

func config(t *testing.T, text string) *oci.Config {
	t.Helper()
	c, err := oci.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// edits are what a spec gives: /dev/null and /dev/zero, under other names.
func exampleEdits() *cdispecs.ContainerEdits {
	return &cdispecs.ContainerEdits{
		Env: []string{"A=1", "B=2"},
		DeviceNodes: []*cdispecs.DeviceNode{
			{Path: "/dev/one", HostPath: "/dev/null", Permissions: "rwm"},
			{Path: "/dev/zero", Permissions: "r"},
			{Path: "/dev/two", HostPath: "/dev/null"},
		},
		Mounts: []*cdispecs.Mount{{HostPath: "/opt", ContainerPath: "/opt/maca", Options: []string{"ro", "bind", "rprivate"}}},
		Hooks: []*cdispecs.Hook{{
			HookName: "createContainer", Path: "/usr/bin/metax-hook",
			Args: []string{"metax-hook", "create-symlinks", "--link", "a::/b", "update-ldcache", "--folder", "/c"},
		}},
	}
}

func TestPending(t *testing.T) {
	for name, tt := range map[string]struct {
		config                 string
		nodes, mounts, missing int
	}{
		"all":                    {`{}`, 3, 1, 2},
		"a variable is there":    {`{"process": {"env": ["A=1", "B=3"]}}`, 3, 1, 1},
		"a node is there":        {`{"linux": {"devices": [{"path": "/dev/one", "type": "c", "major": 1, "minor": 3}]}}`, 2, 1, 2},
		"it has another number":  {`{"linux": {"devices": [{"path": "/dev/one", "type": "c", "major": 1, "minor": 4}]}}`, 3, 1, 2},
		"the mount is there":     {`{"mounts": [{"destination": "/opt/maca/", "source": "/opt"}]}`, 3, 0, 2},
		"another mount is there": {`{"mounts": [{"destination": "/opt/maca", "source": "/srv"}]}`, 3, 1, 2},
		"an engine gave it all": {`{"mounts": [{"destination": "/opt/maca", "source": "/opt"}], "linux": {"devices": [
			{"path": "/dev/one", "type": "c", "major": 1, "minor": 3}, {"path": "/dev/two", "type": "c", "major": 1, "minor": 3},
			{"path": "/dev/zero", "type": "c", "major": 1, "minor": 5}]}}`, 0, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := NewPending(exampleEdits(), config(t, tt.config), actions)
			if err != nil {
				t.Fatal(err)
			}
			got := []int{len(w.nodes), len(w.mounts), len(w.missing)}
			if diff := cmp.Diff([]int{tt.nodes, tt.mounts, tt.missing}, got); diff != "" {
				t.Errorf("nodes, mounts, missing variables: %s", diff)
			}
			if want := tt.nodes+tt.mounts == 0; w.Empty() != want {
				t.Errorf("nothing: %t, want %t", w.Empty(), want)
			}
			args := []string{"create-symlinks", "--link", "a::/b", "update-ldcache", "--folder", "/c"}
			if diff := cmp.Diff(args, w.actions); diff != "" {
				t.Errorf("actions: %s", diff)
			}
		})
	}
}

// TestPendingOneMount: two devices both have the driver's user part; the last one is
// mounted, once.
func TestPendingOneMount(t *testing.T) {
	e := exampleEdits()
	first := *e.Mounts[0]
	first.HostPath, first.ContainerPath = "/srv", "/opt/maca/"
	e.Mounts = append([]*cdispecs.Mount{&first}, e.Mounts...)
	w, err := NewPending(e, config(t, `{}`), actions)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.mounts) != 1 || w.mounts[0].HostPath != "/opt" {
		t.Errorf("mounts are %+v", w.mounts)
	}
}

func TestPendingRefused(t *testing.T) {
	for name, change := range map[string]func(*cdispecs.ContainerEdits){
		"network device":    func(e *cdispecs.ContainerEdits) { e.NetDevices = []*cdispecs.LinuxNetDevice{{}} },
		"cache allocation":  func(e *cdispecs.ContainerEdits) { e.IntelRdt = &cdispecs.IntelRdt{} },
		"block device":      func(e *cdispecs.ContainerEdits) { e.DeviceNodes[0].Type = "b" },
		"no access":         func(e *cdispecs.ContainerEdits) { e.DeviceNodes[0].Permissions = "none" },
		"to be made alone":  func(e *cdispecs.ContainerEdits) { e.DeviceNodes[0].Permissions = "m" },
		"to be written":     func(e *cdispecs.ContainerEdits) { e.DeviceNodes[0].Permissions = "w" },
		"FIFO":              func(e *cdispecs.ContainerEdits) { e.DeviceNodes[0].Type = "p" },
		"writable mount":    func(e *cdispecs.ContainerEdits) { e.Mounts[0].Options = []string{"bind"} },
		"both":              func(e *cdispecs.ContainerEdits) { e.Mounts[0].Options = []string{"ro", "rw"} },
		"mount of memory":   func(e *cdispecs.ContainerEdits) { e.Mounts[0].Type = "tmpfs" },
		"propagated mount":  func(e *cdispecs.ContainerEdits) { e.Mounts[0].Options = []string{"ro", "rshared"} },
		"another's hook":    func(e *cdispecs.ContainerEdits) { e.Hooks[0].Path = "/usr/bin/other-hook" },
		"hook without args": func(e *cdispecs.ContainerEdits) { e.Hooks[0].Args = nil },
		"later stage":       func(e *cdispecs.ContainerEdits) { e.Hooks[0].HookName = "poststart" },
		"our action that is not a hook of a container": func(e *cdispecs.ContainerEdits) { e.Hooks[0].Args = []string{"metax-hook", "prestart"} },
		"option of a newer version":                    func(e *cdispecs.ContainerEdits) { e.Hooks[0].Args = append(e.Hooks[0].Args, "--new", "x") },
	} {
		e := exampleEdits()
		change(e)
		if _, err := NewPending(e, config(t, `{}`), actions); !errors.Is(err, errEngine) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpenSources: the numbers are those of the open nodes, once each; no rule allows
// mknod.
func TestOpenSources(t *testing.T) {
	w, err := NewPending(exampleEdits(), config(t, `{}`), actions)
	if err != nil {
		t.Fatal(err)
	}
	w.mounts = nil // taking nodes alone needs no directory
	needs.Root(t, "to take files of the host")
	list, err := w.openSources()
	if err != nil {
		t.Fatal(err)
	}
	defer list.close()
	want := []devcgroup.Rule{{Major: 1, Minor: 3}, {Major: 1, Minor: 5, ReadOnly: true}}
	if diff := cmp.Diff(want, list.deviceRules()); diff != "" {
		t.Error(diff)
	}
}

// TestOptionalHooks: only hooks that make optional links are dispensable.
func TestOptionalHooks(t *testing.T) {
	for args, want := range map[string]bool{
		"create-symlinks --new-link a::/b":                                  true,
		"create-symlinks --new-link a::/b create-symlinks --new-link=c::/d": true,
		"create-symlinks --new-link a::/b --link c::/d":                     false,
		"create-symlinks --new-link a::/b update-ldcache --folder /c":       false,
	} {
		e := exampleEdits()
		e.Hooks[0].Args = strings.Fields("metax-hook " + args)
		w, err := NewPending(e, config(t, "{}"), actions)
		if err != nil || w.optional != want {
			t.Errorf("%s: %v, %v", args, w, err)
		}
	}
}
