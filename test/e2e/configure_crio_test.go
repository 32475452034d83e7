// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/e2e/internal/cri"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// crioDropIn is a drop-in of somebody's.
const crioDropIn = `# site: what a pod may ask of the default runtime
[crio.runtime.runtimes.runc]
runtime_path = "/usr/sbin/runc"
monitor_path = "/usr/bin/conmon"
allowed_annotations = ["io.kubernetes.cri-o.Devices"]
`

func TestConfigureCRIO(t *testing.T) {
	for _, layout := range []sandbox.Layout{sandbox.V1, sandbox.V2} {
		t.Run(string(layout), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "sid", layout)
			h.replant(t)
			h.write(t, "/etc/crio/crio.conf", fmt.Sprintf(crioConf, imageRef))
			h.write(t, "/etc/crio/crio.conf.d/10-site.conf", crioDropIn)
			client, d := h.crio(t)
			h.configures(t, setting{
				engine: "crio", unread: true,
				activate: d.restarts("systemctl restart crio"),
				running:  func(t *testing.T) { t.Helper(); h.crioRuns(t, client) },
				bare:     func(t *testing.T) { t.Helper(); h.crioBare(t, client) },
			})
		})
	}
}

// crioRuns asserts what a CRI-O that is set up gives.
func (h *host) crioRuns(t *testing.T, client *cri.Client) {
	t.Helper()
	ours := map[string]string{"metax-tech.com/gpu": "1,2"}
	runc, spare, metax := h.podBy(t, client, ""), h.podBy(t, client, "spare"), h.podBy(t, client, "metax")
	h.sees(t, runc.look(t, cri.Container{Name: "ours", Annotations: ours}), nil)
	h.sees(t, spare.look(t, cri.Container{Name: "none"}), nil)
	h.sees(t, metax.look(t, cri.Container{Name: "none"}), nil)
	h.sees(t, metax.look(t, cri.Container{Name: "ours", Annotations: ours}), []int{1, 2})
	h.sees(t, runc.look(t, cri.Container{Name: "cdi", CDI: h.cdiNames([]int{4, 5})}), []int{4, 5})
	h.sees(t, metax.look(t, cri.Container{Name: "cdi", CDI: h.cdiNames([]int{6})}), []int{6})
	h.sees(t, metax.look(t, cri.Container{Name: "user", Annotations: ours, User: 1000}), []int{1, 2})
	_, err := metax.start(t, h.inbox(t), cri.Container{Name: "unknown", Annotations: map[string]string{"metax-tech.com/gpu": "99"}}, "look")
	if err == nil || !strings.Contains(err.Error(), noDevice) {
		t.Errorf("want an error that names %s, got %v", noDevice, err)
	}
}

// crioBare asserts that CRI-O is as it was.
func (h *host) crioBare(t *testing.T, client *cri.Client) {
	t.Helper()
	h.podBy(t, client, "spare")
	if _, err := client.PodBy(t.Context(), h.Cgroup(), "metax"); err == nil || !strings.Contains(err.Error(), "metax") {
		t.Errorf("want no runtime handler of this name: %v", err)
	}
}
