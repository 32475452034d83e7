// SPDX-License-Identifier: Apache-2.0

package allocate

import "testing"

func TestUsesCDI(t *testing.T) {
	for _, test := range []struct {
		kubelet, engine string
		want            bool
	}{
		{"v1.34.4", "containerd://2.1.9", true},
		{"v1.29.0", "containerd://2.0.0", true},
		{"v1.29.0-rc.1", "containerd://2.0.0-rc.2", true},
		{"v1.30.1+k3s1", "containerd://2.0.4-k3s2", true},
		{"v1.28.15", "containerd://2.1.9", false},
		{"v1.34.4", "containerd://1.7.28", false},
		{"v1.34.4", "cri-o://1.34.1", true},
		{"v1.28.0", "cri-o://1.28.0", false},
		{"v1.34.4", "docker://28.0.0", false},
		{"v1.34.4", "containerd://", false},
		{"v1.34.4", "", false},
		{"", "containerd://2.1.9", false},
		{"new", "containerd://2.1.9", false},
	} {
		if got := Auto.UsesCDI(test.kubelet, test.engine); got != test.want {
			t.Errorf("kubelet %q with %q: %t", test.kubelet, test.engine, got)
		}
		if !CDI.UsesCDI(test.kubelet, test.engine) || DeviceSpecs.UsesCDI(test.kubelet, test.engine) {
			t.Error("a strategy that is named does not depend on versions")
		}
	}
	for _, name := range []string{"auto", "cdi", "device-specs"} {
		if s, err := ParseStrategy(name); err != nil || string(s) != name {
			t.Errorf("%s: %q, %v", name, s, err)
		}
	}
	if _, err := ParseStrategy("envvar"); err == nil {
		t.Error("an unknown strategy is taken")
	}
}
