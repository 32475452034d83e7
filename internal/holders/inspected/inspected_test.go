// SPDX-License-Identifier: Apache-2.0

package inspected_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/inspected"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

const (
	id    = "e6f56e36652ae6056a2a01cc079ff7096dd011966b5e93e0be5a8ad5cd4e5568"
	uuid  = "GPU-6d90451e-4b9b-9e48-052e-7edea86dd49c" // of GPU 2
	label = `"metax-tech.com/gpus": "2", "metax-tech.com/ids": "` + uuid + `", "metax-tech.com/lease": "8bbb2e52ad2c"`
)

// podman is what podman 5 prints, without what is not read.
func podman(state, words string) string {
	return `[{"Id": "` + id + `", "Created": "2026-11-28T05:31:07.9Z", "State": {"Status": "` + state + `", "StartedAt": "0001-01-01T00:00:00Z", "Pid": 0}, "Name": "job",
		"Config": {"Image": "image", "Env": ["A=b"], "Labels": {` + label + `}, "CreateCommand": ["podman", "create", ` + words + `"image"]},
		"HostConfig": {"RestartPolicy": {"Name": "always"}, "Privileged": false, "Devices": [], "Annotations": {"metax-tech.com/lease": "8bbb2e52ad2c"}}, "Mounts": []}]`
}

// nerdctl is what nerdctl 2 prints.
func nerdctl(devices, process string) string {
	return `[{"ID": "` + id + `", "Image": "image", "CreatedAt": "2026-11-28T05:31:07.9Z", "Labels": {"nerdctl/name": "job", "nerdctl/namespace": "default", ` + label + `},
		"Spec": {"linux": {"devices": [` + devices + `]}, "mounts": [{"source": "ROOT/opt/mxdriver"}]}` + process + `}]`
}

// TestContainer reads containers that were made with GPU 2.
func TestContainer(t *testing.T) {
	node, tree := simtest.Host(t, "c500-8")
	root := simtest.Write(t, tree)
	devices := holders.NewDevices(node, root)
	number, err := root.Device(node.GPUs[2].Nodes[1])
	if err != nil {
		t.Fatal(err)
	}
	render, err := json.Marshal(map[string]any{"path": "/dev/dri/renderD130", "type": "c", "major": number.Major, "minor": number.Minor})
	if err != nil {
		t.Fatal(err)
	}
	given := usage.Given{GPUs: []string{uuid}}
	of := func(engine string, state usage.ContainerState, gpus ...int) usage.Container {
		c := usage.Container{Engine: engine, ID: id, State: state, Facts: usage.Facts{Name: "job", Image: "image", Lease: "8bbb2e52ad2c"}}
		for _, i := range gpus {
			c.GPUs, c.Given = append(c.GPUs, node.GPUs[i].BDF), given
		}
		if c.Created = time.Date(2026, 11, 28, 5, 31, 7, 9e8, time.UTC); engine == "podman" {
			c.Created, c.Started = c.Created.Truncate(time.Second), "0001-01-01T00:00:00Z"
		} else {
			c.Namespace = "default"
		}
		return c
	}
	runs := of("containerd", usage.Running, 2)
	runs.Init = 77
	for name, tc := range map[string]struct {
		text string
		want usage.Container
	}{
		"podman, a node":     {podman("created", `"--device=ROOT/dev/dri/renderD130:/dev/dri/renderD130:rw",`), of("podman", usage.Created, 2)},
		"podman, two words":  {podman("configured", `"--device", "ROOT/dev/dri/renderD130",`), of("podman", usage.Created, 2)},
		"podman, CDI":        {podman("stopped", `"--device=metax-tech.com/gpu=`+uuid+`",`), of("podman", usage.Exited, 2)},
		"podman, running":    {podman("running", `"--device=ROOT/dev/dri/renderD130",`), of("podman", usage.Running, 2)},
		"podman, none":       {podman("exited", `"--rm",`), of("podman", usage.Exited)},
		"nerdctl, a node":    {nerdctl(string(render), ""), of("containerd", usage.Exited, 2)},
		"nerdctl, running":   {nerdctl(string(render), `, "Process": {"Pid": 77, "Status": {"Status": "running"}}`), runs},
		"nerdctl, has ended": {nerdctl(string(render), `, "Process": {"Pid": 77, "Status": {"Status": "stopped"}}`), of("containerd", usage.Exited, 2)},
		"nerdctl, none":      {nerdctl("", ""), of("containerd", usage.Exited)},
	} {
		engine := map[bool]string{true: "podman", false: "containerd"}[strings.HasPrefix(name, "podman")]
		got, err := inspected.Container(engine, []byte(strings.ReplaceAll(tc.text, "ROOT", root.Dir())), devices)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for _, engine := range []string{"podman", "containerd"} {
		for _, text := range []string{"", "{}", "[]", "[{}]", "[{}, {}]", `[{"Spec": {}}]`, `[{"Id": 5, "ID": 5}]`} {
			if c, err := inspected.Container(engine, []byte(text), devices); err == nil {
				t.Errorf("%s: %s is %+v", engine, text, c)
			}
		}
	}
}

// TestSource lists what a user's podman knows.
func TestSource(t *testing.T) {
	node, tree := simtest.Host(t, "c500-8")
	root := simtest.Write(t, tree)
	broken := errors.New("broken")
	one := strings.TrimSuffix(strings.TrimPrefix(podman("created", `"--device=`+root.Join("/dev/dri/renderD130")+`",`), "["), "]")
	for name, tc := range map[string]struct {
		ids, text string
		failed    error
		want      []gpu.BDF // of two containers; nil is an error
	}{
		"two":         {id + "\n" + id + "\n", "[" + one + "," + one + "]", nil, []gpu.BDF{node.GPUs[2].BDF, node.GPUs[2].BDF}},
		"none":        {"\n", "", nil, []gpu.BDF{}},
		"no list":     {"", "", broken, nil},
		"one is gone": {id, "[]\n", broken, nil},
		"no JSON":     {id, "no", nil, nil},
		"no ID":       {id, "[{}]", nil, nil},
	} {
		s := inspected.Source{UID: 1000, Devices: holders.NewDevices(node, root), Run: func(_ context.Context, args ...string) ([]byte, error) {
			if args[0] == "ps" && (tc.failed == nil || tc.ids != "") {
				return []byte(tc.ids), nil
			}
			return []byte(tc.text), tc.failed
		}}
		sight, err := s.Look(t.Context(), usage.Question{})
		if tc.want == nil {
			if err == nil || !sight.Partial || sight.Users != nil {
				t.Errorf("%s: %+v, %v", name, sight, err)
			}
			continue
		}
		got := []gpu.BDF{}
		for _, c := range sight.Containers {
			got = append(got, c.GPUs...)
		}
		if d := cmp.Diff(tc.want, got); d != "" || err != nil || len(sight.Users) != 1 || sight.Users[0] != 1000 {
			t.Errorf("%s: %v, %v, %s", name, sight.Users, err, d)
		}
	}
	if engine, endpoint := (inspected.Source{}).Name(); engine != "podman" || endpoint != "" {
		t.Errorf("it is %s at %q", engine, endpoint)
	}
}
