// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
)

// TestChooseForm: the versions of kubelet and engine matter to the strategy auto, also when
// the engine becomes another.
func TestChooseForm(t *testing.T) {
	for _, test := range []struct {
		strategy allocate.Strategy
		engines  string // one after the other
		want     string
	}{
		{allocate.Auto, "containerd://2.1.9", "true"},
		{allocate.Auto, "containerd://2.1.9 containerd://1.7.28 cri-o://1.34.1", "true false true"},
		{allocate.Auto, "containerd://1.7.28", "false"},
		{allocate.CDI, "containerd://1.7.28", "true"},
		{allocate.DeviceSpecs, "containerd://2.1.9", "false"},
	} {
		a, _ := allocator(t, t.TempDir(), "boot", new(strings.Builder))
		agent := Agent{Node: &Node{Allocator: a, Log: slog.New(slog.DiscardHandler)}, Strategy: test.strategy}
		var got []string
		for engine := range strings.FieldsSeq(test.engines) {
			agent.chooseForm(corev1.NodeSystemInfo{KubeletVersion: "v1.34.4", ContainerRuntimeVersion: engine})
			got = append(got, strconv.FormatBool(a.State.view().cdi))
		}
		if is := strings.Join(got, " "); is != test.want {
			t.Errorf("%s with %s: CDI is %s, want %s", test.strategy, test.engines, is, test.want)
		}
	}
}
