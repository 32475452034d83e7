// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

func TestNextMode(t *testing.T) {
	settings := func(m protocol.Mode) protocol.ModeSettings { return protocol.ModeSettings{Mode: m, Shares: 4} }
	eight := protocol.ModeSettings{Mode: protocol.ModeShared, Shares: 8}
	uses := func(ids ...string) Use {
		var u Use
		for _, id := range ids {
			u.Containers = append(u.Containers, allocations.Listed{Container: allocations.Container{Namespace: "team", Pod: "job", Name: "main"}, IDs: []string{id}})
		}
		return u
	}
	const native, shared, sgpu, vgpu = protocol.ModeNative, protocol.ModeShared, protocol.ModeSGPU, protocol.ModeVGPU
	for _, test := range []struct {
		what            string
		now, configured protocol.ModeSettings
		use             Use
		want            protocol.ModeSettings
		blocked         string
	}{
		{"start", settings(""), settings(sgpu), Use{}, settings(sgpu), ""},
		{"start with GPUs in use", settings(""), settings(sgpu), uses("GPU-a"), settings(native), "mode stays native, sgpu is configured: team/job (container main) has GPU-a"},
		{"start with slices in use", settings(""), settings(native), uses("GPU-a-sgpu1", "GPU-a-sgpu2"), settings(sgpu), "mode stays sgpu, native is configured: team/job (container main) has GPU-a-sgpu1, and 1 container more"},
		{"start with shares in use", settings(""), settings(native), uses("GPU-a::1"), settings(shared), "mode stays shared, native is configured: team/job (container main) has GPU-a::1"},
		{"start with virtual functions in use", settings(""), settings(vgpu), uses("GPU-a-vf1"), settings(vgpu), ""},
		{"start with the same mode in use", settings(""), settings(sgpu), uses("GPU-a-sgpu1"), settings(sgpu), ""},
		{"start with a mode that is not known", settings(""), settings(""), Use{}, settings(native), ""},
		{"start with a mode that is not known, slices in use", settings(""), settings(""), uses("GPU-a-sgpu1"), settings(sgpu), ""},
		{"start with leases outside", settings(""), settings(sgpu), Use{Outside: 2}, settings(sgpu), ""},
		{"nothing changes", settings(native), settings(native), uses("GPU-a"), settings(native), ""},
		{"idle", settings(native), settings(sgpu), Use{}, settings(sgpu), ""},
		{"in use", settings(native), settings(sgpu), uses("GPU-a"), settings(native), "mode stays native, sgpu is configured: team/job (container main) has GPU-a"},
		{"in use outside", settings(native), settings(sgpu), Use{Outside: 2}, settings(native), "mode stays native, sgpu is configured: containers outside Kubernetes use 2 GPUs"},
		{"in use by someone", settings(native), settings(sgpu), Use{Containers: []allocations.Listed{{IDs: []string{"GPU-a"}}}, Outside: 1}, settings(native), "mode stays native, sgpu is configured: a container that is not known has GPU-a; containers outside Kubernetes use 1 GPU"},
		{"a mode that is not known", settings(sgpu), settings(""), Use{}, settings(sgpu), ""},
		{"more shares", settings(shared), eight, Use{}, eight, ""},
		{"more shares in use", settings(shared), eight, uses("GPU-a::1"), settings(shared), "shareNums stays 4, 8 is configured: team/job (container main) has GPU-a::1"},
		{"shares without effect", settings(native), protocol.ModeSettings{Mode: native, Shares: 8}, uses("GPU-a"), settings(native), ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			got, blocked := NextMode(test.now, test.configured, test.use)
			if got != test.want || blocked != test.blocked {
				t.Errorf("got %v, %q\nwant %v, %q", got, blocked, test.want, test.blocked)
			}
		})
	}
}
