// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func TestSource(t *testing.T) {
	root, err := hostfs.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	node := gpu.Node{GPUs: []gpu.GPU{
		{Index: 0, UUID: "GPU-0", BDF: gpu.BDF{Bus: 1}}, {Index: 1, UUID: "GPU-1", BDF: gpu.BDF{Bus: 2}}, {Index: 2, UUID: "GPU-3", BDF: gpu.BDF{Bus: 3}},
	}}
	devices := holders.NewDevices(node, root)
	answer := message(
		1, message(1, "train", 2, "team", 3, message(1, "main", 2, message(1, "metax-tech.com/gpu", 2, "GPU-1", 2, "GPU-0"))),
		1, message(1, "part", 2, "team", 3, message(1, "main", 2, message(1, "metax-tech.com/gpu", 2, "GPU-3-vf2"))),
		1, message(1, "other", 2, "team", 3, message(1, "main", 2, message(1, "rdma/hca", 2, "mlx5_0"))),
	)
	container := func(name string, gpus ...gpu.BDF) usage.Container {
		return usage.Container{Engine: usage.Kubernetes, ID: name, State: usage.Running, Facts: usage.Facts{Name: name, GPUs: gpus}}
	}
	want := []usage.Container{container("team/train/main", gpu.BDF{Bus: 1}, gpu.BDF{Bus: 2}), container("team/part/main", gpu.BDF{Bus: 3})}
	sight, err := NewSource(serve(t, answer, nil), devices).Look(t.Context(), usage.Question{})
	if diff := cmp.Diff(want, sight.Containers); err != nil || sight.Partial || diff != "" {
		t.Errorf("%v, partial %t %s", err, sight.Partial, diff)
	}
	if sight, err := NewSource(serve(t, answer, nil), devices.Nameless()).Look(t.Context(), usage.Question{}); err != nil || len(sight.Containers) > 0 {
		t.Errorf("UUIDs of another node count: %v, %v", sight.Containers, err)
	}
}

// A host without the kubelet's directory has no kubelet. With it, nothing that cannot be asked
// counts as absent.
func TestSourceFails(t *testing.T) {
	for _, test := range []struct {
		name, address string
		absent        bool
	}{
		{"no directory", filepath.Join(t.TempDir(), "pod-resources", "kubelet.sock"), true},
		{"no socket", filepath.Join(t.TempDir(), "kubelet.sock"), false},
		{"no answer", serve(t, []byte{0x0a, 9, 1}, nil), false},
	} {
		sight, err := NewSource(test.address, holders.Devices{}).Look(t.Context(), usage.Question{})
		if err == nil || errors.Is(err, usage.ErrAbsent) != test.absent || !sight.Partial {
			t.Errorf("%s: %v, partial %t", test.name, err, sight.Partial)
		}
	}
}
