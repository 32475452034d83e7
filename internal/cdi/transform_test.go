package cdi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "tags.cncf.io/container-device-interface/specs-go"
)

func TestTransforms(t *testing.T) {
	node := func(path, host string) *specs.DeviceNode { return &specs.DeviceNode{Path: path, HostPath: host} }
	mount := func(from, to string) *specs.Mount { return &specs.Mount{HostPath: from, ContainerPath: to} }
	for _, tc := range []struct {
		name       string
		apply      func(scope)
		have, want specs.ContainerEdits
	}{
		{
			"tidy", scope.tidy,
			specs.ContainerEdits{
				DeviceNodes:    []*specs.DeviceNode{node("/dev/b", ""), node("/dev/a", ""), node("/dev/b", "")},
				Mounts:         []*specs.Mount{mount("/x", "/y"), mount("/x", "/a"), mount("/x", "/y")},
				AdditionalGIDs: []uint32{9, 10, 9},
			},
			specs.ContainerEdits{
				DeviceNodes:    []*specs.DeviceNode{node("/dev/a", ""), node("/dev/b", "")},
				Mounts:         []*specs.Mount{mount("/x", "/a"), mount("/x", "/y")},
				AdditionalGIDs: []uint32{9, 10},
			},
		},
		{
			"below", func(s scope) { s.below("/r/") },
			specs.ContainerEdits{
				DeviceNodes: []*specs.DeviceNode{node("/dev/b", ""), node("/dev/c", "/dev/d")},
				Mounts:      []*specs.Mount{mount("/x", "/y")},
			},
			specs.ContainerEdits{
				DeviceNodes: []*specs.DeviceNode{node("/dev/b", "/r/dev/b"), node("/dev/c", "/r/dev/d")},
				Mounts:      []*specs.Mount{mount("/r/x", "/y")},
			},
		},
		{
			"below nothing", func(s scope) { s.below("/") },
			specs.ContainerEdits{DeviceNodes: []*specs.DeviceNode{node("/dev/b", "")}},
			specs.ContainerEdits{DeviceNodes: []*specs.DeviceNode{node("/dev/b", "")}},
		},
		{"groups kept", func(s scope) { s.groups(true) }, specs.ContainerEdits{AdditionalGIDs: []uint32{0, 44}}, specs.ContainerEdits{AdditionalGIDs: []uint32{44}}},
		{"groups dropped", func(s scope) { s.groups(false) }, specs.ContainerEdits{AdditionalGIDs: []uint32{0, 44}}, specs.ContainerEdits{AdditionalGIDs: []uint32{}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec, want := editsOf(tc.have), editsOf(tc.want)
			for _, s := range scopes(spec) {
				tc.apply(s)
			}
			if diff := cmp.Diff(want, spec); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
