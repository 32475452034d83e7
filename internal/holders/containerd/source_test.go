// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/api/types/task"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/containerd"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// born is when all containers of the tests were created.
var born = time.Date(2026, 7, 1, 12, 0, 0, 123456789, time.UTC)

// machine is a host of four GPUs. Nodes are known by their paths, as only root can make
// devices.
type machine struct {
	holders.Devices
	dir  string
	gpus []gpu.GPU
}

func newMachine(t testing.TB) machine {
	t.Helper()
	m := machine{dir: t.TempDir()}
	for i := range 4 {
		bdf, err := gpu.ParseBDF(fmt.Sprintf("0000:0%d:00.0", i+1))
		if err != nil {
			t.Fatal(err)
		}
		m.gpus = append(m.gpus, gpu.GPU{Index: i, BDF: bdf, Nodes: []string{fmt.Sprintf("/dev/dri/card%d", i)}})
	}
	root, err := hostfs.New(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Devices = holders.NewDevices(gpu.Node{GPUs: m.gpus}, root)
	return m
}

// spec is a bundle with the GPUs.
func (m machine) spec(t testing.TB, gpus ...int) *specs.Spec {
	t.Helper()
	s := &specs.Spec{Linux: &specs.Linux{}}
	for _, i := range gpus {
		s.Mounts = append(s.Mounts, specs.Mount{Source: filepath.Join(m.dir, m.gpus[i].Nodes[0])})
	}
	return s
}

// record is a container as containerd keeps it.
func record(t testing.TB, id string, spec *specs.Spec, labels map[string]string) *containersapi.Container {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return &containersapi.Container{
		ID: id, Labels: labels, Image: "localhost/maca:3", CreatedAt: timestamppb.New(born),
		Spec: &anypb.Any{TypeUrl: "types.containerd.io/opencontainers/runtime-spec/1/Spec", Value: text},
	}
}

// madeBy is a record that names a runtime, and the program that it runs unless that is "-".
func madeBy(t testing.TB, id, runtime, binary string, spec *specs.Spec) *containersapi.Container {
	t.Helper()
	c := record(t, id, spec, nil)
	c.Runtime = &containersapi.Container_Runtime{Name: runtime}
	if binary != "-" {
		value, err := proto.Marshal(&options.Options{BinaryName: binary, SystemdCgroup: true})
		if err != nil {
			t.Fatal(err)
		}
		c.Runtime.Options = &anypb.Any{TypeUrl: "containerd.runc.v1.Options", Value: value}
	}
	return c
}

// TestAskedOf: what a container asks for counts where its runtime may be the shim.
func TestAskedOf(t *testing.T) {
	m := newMachine(t)
	const runc = "io.containerd.runc.v2"
	odd := madeBy(t, "h", runc, "-", nil)
	odd.Runtime.Options = &anypb.Any{TypeUrl: "runtimeoptions.v1.Options", Value: []byte{0xff}}
	for name, c := range map[string]struct {
		record *containersapi.Container
		want   bool
	}{
		"no options":         {madeBy(t, "a", runc, "-", nil), false},
		"no program":         {madeBy(t, "b", runc, "", nil), false},
		"runc":               {madeBy(t, "c", runc, "runc", nil), false},
		"crun":               {madeBy(t, "d", runc, "/usr/bin/crun", nil), false},
		"the shim":           {madeBy(t, "e", runc, "/usr/local/bin/metax-runtime", nil), true},
		"another program":    {madeBy(t, "f", "io.containerd.runc.v1", "/opt/x", nil), true},
		"another runtime":    {madeBy(t, "g", "io.containerd.kata.v2", "-", nil), true},
		"options of another": {odd, true},
		"not told":           {record(t, "i", nil, nil), true},
	} {
		asks := m.spec(t)
		asks.Annotations = map[string]string{"metax-tech.com/gpu": "1"}
		c.record.Spec = record(t, "", asks, nil).Spec
		d := daemon{namespaces: []string{"default"}, containers: map[string][]*containersapi.Container{"default": {c.record}}}
		sight, err := look(t, d.serve(t), m.Devices, usage.Question{})
		if err != nil || len(sight.Containers) != 1 {
			t.Fatalf("%s: %+v, %v", name, sight, err)
		}
		if got := len(sight.Containers[0].GPUs) == 1; got != c.want {
			t.Errorf("%s: GPUs %v", name, sight.Containers[0].GPUs)
		}
	}
}

func look(t testing.TB, address string, devices holders.Devices, q usage.Question) (usage.Sight, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return containerd.New(address, devices).Look(ctx, q)
}

func TestLook(t *testing.T) {
	m := newMachine(t)
	docker := strings.Repeat("0123456789abcdef", 4)
	annotated := m.spec(t, 3)
	annotated.Annotations = map[string]string{usage.LeaseLabel: "by annotation"}
	privileged := m.spec(t, 0, 1, 2, 3)
	privileged.Linux.Resources = &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: true, Access: "rwm"}}}
	asks, lists := m.spec(t), m.spec(t, 0)
	asks.Annotations = map[string]string{"metax-tech.com/gpu": "1,3", "cdi.k8s.io/plugin": "metax-tech.com/gpu=2,nvidia.com/gpu=0"}
	lists.Mounts = append(lists.Mounts, specs.Mount{Source: "/dev/null", Destination: "/var/run/metax-container-devices/3"})
	pod := map[string]string{"io.kubernetes.pod.namespace": "ml", "io.kubernetes.pod.name": "train-0"}
	inPod := map[string]string{"io.kubernetes.pod.namespace": "ml", "io.kubernetes.pod.name": "train-0", "io.kubernetes.container.name": "main"}
	without := record(t, "without a bundle", nil, nil)
	without.Spec = nil
	d := daemon{
		namespaces: []string{"moby", "empty", "k8s.io", "default"},
		containers: map[string][]*containersapi.Container{
			"k8s.io": {record(t, "main", m.spec(t, 2, 1), inPod), record(t, "sandbox", m.spec(t), pod)},
			"moby":   {record(t, docker, annotated, nil)},
			"default": {
				record(t, "stopped", m.spec(t, 0), nil),
				record(t, "never started", m.spec(t, 0), map[string]string{"nerdctl/name": "trainer"}),
				record(t, "created", m.spec(t, 0), map[string]string{usage.LeaseLabel: "by label"}),
				record(t, "paused", m.spec(t, 0), nil),
				record(t, "pausing", m.spec(t, 0), nil),
				record(t, "of unknown state", m.spec(t, 0), nil),
				record(t, "to be started again", m.spec(t, 0), map[string]string{"containerd.io/restart.status": "running"}),
				record(t, "privileged", privileged, nil),
				record(t, "asks by annotation", asks, nil),
				record(t, "asks by mount", lists, map[string]string{"metax-tech.com/gpu": "all"}),
				record(t, "lease alone", m.spec(t), map[string]string{usage.LeaseLabel: "claim"}),
				without,
			},
		},
		tasks: map[string]*task.Process{
			"k8s.io/main":              {Pid: 100, Status: task.Status_RUNNING},
			"k8s.io/sandbox":           {Pid: 101, Status: task.Status_RUNNING},
			"moby/" + docker:           {Pid: 102, Status: task.Status_RUNNING},
			"default/main":             {Pid: 103, Status: task.Status_STOPPED},
			"default/stopped":          {Pid: 104, Status: task.Status_STOPPED},
			"default/created":          {Pid: 105, Status: task.Status_CREATED},
			"default/paused":           {Pid: 106, Status: task.Status_PAUSED},
			"default/pausing":          {Pid: 107, Status: task.Status_PAUSING},
			"default/of unknown state": {},
			"default/lease alone":      {Pid: 108, Status: task.Status_RUNNING},
			"default/privileged":       {Pid: 109, Status: task.Status_RUNNING},
			"default/asks by mount":    {Pid: 110, Status: task.Status_CREATED},
		},
	}
	facts := func(name, lease string, gpus ...int) usage.Facts {
		f := usage.Facts{Name: name, Image: "localhost/maca:3", Lease: lease, Created: born}
		for _, i := range gpus {
			f.GPUs = append(f.GPUs, m.gpus[i].BDF)
		}
		return f
	}
	container := func(namespace, id string, facts usage.Facts, state usage.ContainerState, init int) usage.Container {
		return usage.Container{Engine: "containerd", Namespace: namespace, ID: id, Facts: facts, State: state, Init: init}
	}
	again := container("default", "to be started again", facts("", "", 0), usage.Exited, 0)
	again.Keeps = true
	open := container("default", "privileged", facts("", ""), "", 0)
	open.Privileged = true
	want := usage.Sight{Containers: []usage.Container{
		container("default", "asks by annotation", facts("", "", 1, 2, 3), usage.Exited, 0),
		container("default", "asks by mount", facts("", "", 0, 3), usage.Created, 110),
		container("default", "created", facts("", "by label", 0), usage.Created, 105),
		container("default", "lease alone", facts("", "claim"), usage.Running, 108),
		container("default", "never started", facts("trainer", "", 0), usage.Exited, 0),
		container("default", "of unknown state", facts("", "", 0), usage.Running, 0),
		container("default", "paused", facts("", "", 0), usage.Paused, 106),
		container("default", "pausing", facts("", "", 0), usage.Paused, 107),
		open,
		container("default", "stopped", facts("", "", 0), usage.Exited, 0),
		again,
		container("default", "without a bundle", facts("", ""), "", 0),
		container("k8s.io", "main", facts("ml/train-0/main", "", 1, 2), usage.Running, 100),
		container("k8s.io", "sandbox", facts("ml/train-0", ""), "", 0),
		container("moby", docker, facts("", "by annotation", 3), usage.Running, 102),
	}}
	got, err := look(t, d.serve(t), m.Devices, usage.Question{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("look (-want +got):\n%s", diff)
	}
}

// What one part withholds does not hide the others, and is said.
func TestLookPartial(t *testing.T) {
	m := newMachine(t)
	unavailable := status.Error(codes.Unavailable, "ttrpc: closed")
	for _, test := range []struct {
		name   string
		broken map[string]error
		spec   string   // of container "b", if it is broken
		want   []string // containers and their states
		says   string
		late   bool
	}{
		{"namespaces", map[string]error{"": unavailable}, "", nil, "list namespaces", false},
		{"namespaces hang", map[string]error{"": nil}, "", nil, "list namespaces", true},
		{"containers", map[string]error{"one": unavailable}, "", []string{"two/c running"}, "list containers of namespace one", false},
		{"containers hang", map[string]error{"one": nil}, "", []string{"two/c running"}, "list containers of namespace one", true},
		{"a task", map[string]error{"one/a": unavailable}, "", []string{"one/a running", "one/b running", "two/c running"}, "container a of namespace one", false},
		{"a task hangs", map[string]error{"one/a": nil}, "", []string{"one/a running", "one/b running", "two/c running"}, "container a of namespace one", true},
		{"a bundle", nil, "{", []string{"one/a exited", "two/c running"}, "container b of namespace one: read OCI bundle", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			running := &task.Process{Status: task.Status_RUNNING}
			d := daemon{
				namespaces: []string{"one", "two"},
				containers: map[string][]*containersapi.Container{
					"one": {record(t, "a", m.spec(t, 0), nil), record(t, "b", m.spec(t, 1), nil)},
					"two": {record(t, "c", m.spec(t, 2), nil)},
				},
				tasks:  map[string]*task.Process{"one/a": {Status: task.Status_STOPPED}, "one/b": running, "two/c": running},
				broken: test.broken,
			}
			if test.spec != "" {
				d.containers["one"][1].Spec.Value = []byte(test.spec)
			}
			timeout := time.Minute
			if test.late {
				timeout = 300 * time.Millisecond // the others answer in it
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			got, err := containerd.New(d.serve(t), m.Devices).Look(ctx, usage.Question{})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v; want it to say %q", err, test.says)
			}
			if late := errors.Is(err, context.DeadlineExceeded); late != test.late {
				t.Errorf("the error is of the deadline: %t, want %t: %v", late, test.late, err)
			}
			if !got.Partial {
				t.Error("the sight is not partial")
			}
			var states []string
			for _, c := range got.Containers {
				states = append(states, fmt.Sprintf("%s/%s %s", c.Namespace, c.ID, c.State))
			}
			if diff := cmp.Diff(test.want, states); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
		})
	}
}

// Facts that are known spare reading the bundle, if they are of this container and not of one
// that had its ID before.
func TestLookSeen(t *testing.T) {
	m := newMachine(t)
	d := daemon{
		namespaces: []string{"default"},
		containers: map[string][]*containersapi.Container{"default": {record(t, "a", m.spec(t, 1), nil)}},
	}
	address := d.serve(t)
	kept := usage.Facts{Name: "kept", GPUs: []gpu.BDF{m.gpus[3].BDF}, Created: born.In(time.FixedZone("CST", 8*3600))}
	before, timeless := kept, kept
	before.Created = born.Add(-time.Nanosecond)
	timeless.Created = time.Time{}
	for _, test := range []struct {
		name string
		seen usage.Facts
		want int
	}{
		{"the same", kept, 3},
		{"another before it", before, 1},
		{"of no time", timeless, 1},
		{"none", usage.Facts{}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := map[string]usage.Facts{usage.Key("containerd", "default", "a"): test.seen}
			got, err := look(t, address, m.Devices, usage.Question{Seen: seen})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Containers) != 1 || !slices.Equal(got.Containers[0].GPUs, []gpu.BDF{m.gpus[test.want].BDF}) {
				t.Errorf("want GPU %d, got %+v", test.want, got.Containers)
			}
		})
	}
}
