// SPDX-License-Identifier: Apache-2.0

package dockerd_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/dockerd"
)

func TestInfo(t *testing.T) {
	socket := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/info" {
			t.Errorf("asked %s", r.URL.Path)
		}
		_, _ = w.Write([]byte(`{"ServerVersion": "29.5.0", "CgroupDriver": "systemd", "SecurityOptions": ["name=userns", "name=rootless"], "Other": 1,
			"DefaultRuntime": "runc", "Runtimes": {"metax": {"path": "/usr/bin/metax-runtime"}}, "CDISpecDirs": ["/etc/cdi"],
			"DiscoveredDevices": [{"Source": "cdi", "ID": "metax-tech.com/gpu=0"}]}`))
	})
	got, _, err := dockerd.Daemon{Socket: socket}.Info(t.Context())
	want := dockerd.Info{
		ServerVersion: "29.5.0", CgroupDriver: "systemd", SecurityOptions: []string{"name=userns", "name=rootless"},
		DefaultRuntime: "runc", Runtimes: map[string]struct{ Path string }{"metax": {"/usr/bin/metax-runtime"}},
		CDISpecDirs: []string{"/etc/cdi"}, DiscoveredDevices: []dockerd.Discovered{{Source: "cdi", ID: "metax-tech.com/gpu=0"}},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v, %s", err, d)
	}
	if !got.Userns() || !got.Rootless() {
		t.Error("neither rootless nor with a user namespace")
	}
	if none := (*dockerd.Info)(nil); none.Userns() || none.Rootless() {
		t.Error("a daemon that does not answer has security options")
	}
	bad := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ServerVersion": 5}`)) })
	if _, _, err := (dockerd.Daemon{Socket: bad}).Info(t.Context()); err == nil || !strings.Contains(err.Error(), "read the info of the docker daemon at "+bad) {
		t.Errorf("error is %v", err)
	}
}
