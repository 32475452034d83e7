// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/edits"
)

func TestContainer(t *testing.T) {
	p := services(t, `
		"a": {
			"image": "i", "platform": "linux/arm64", "pull_policy": "always",
			"volumes": [{"type": "bind", "source": "/x", "target": "/opt/maca"}, {"type": "volume", "target": "/a$$b"}],
			"tmpfs": ["/run:size=1m", "/tmp"], "privileged": true, "device_cgroup_rules": ["c 226:* rwm"],
			"devices": ["/dev/a:/dev/b:rwm", {"source": "/dev/c", "target": "/dev/c"}],
			"environment": {"PATH": "/mine:$$HOME", "GONE": null, "A": "1=2"}
		},
		"b": {"build": {}, "pull_policy": "always"}, "c": {"image": "i", "pull_policy": "build"}`)
	for service, want := range map[string]Container{
		"a": {
			Image: "i", Platform: "linux/arm64", Pull: "always", Mounts: []string{"/opt/maca", "/a$b", "/run", "/tmp"},
			Privileged: true, Devices: []string{"/dev/a:/dev/b:rwm", "/dev/c"}, Rules: []string{"c 226:* rwm"}, Binds: []string{"/x"},
			Env: []string{"A=1=2", "GONE", "PATH=/mine:$HOME"},
		},
		"b": {Image: "p-b", Pull: PullNever},
		"c": {Image: "i", Pull: PullNever},
	} {
		if d := cmp.Diff(want, p.Container(service)); d != "" {
			t.Errorf("%s (-want +got):\n%s", service, d)
		}
	}
}

// Variables of the edits for MXMACA have been made from those of the service, and replace
// them; what compose reads again has "$$" for "$".
func TestInjectEnv(t *testing.T) {
	p := services(t, `"s": {"gpus": [{"count": 1}], "environment": {"PATH": "/mine:$$HOME", "B": "2"}}`)
	given := Injection{Edits: edits.Edits{Names: []string{"metax-tech.com/maca=host"}, Env: []string{"PATH=/mine:$HOME:/opt/maca/bin", "MACA_PATH=/opt/maca"}}}
	if err := p.Inject("s", given); err != nil {
		t.Fatal(err)
	}
	want := object{"PATH": "/mine:$$HOME:/opt/maca/bin", "MACA_PATH": "/opt/maca", "B": "2"}
	if d := cmp.Diff(want, p.services["s"]["environment"]); d != "" {
		t.Error(d)
	}
}
