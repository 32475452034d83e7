// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// TestSources looks for users on a simulated host. The kubelet does not answer, which counts
// as use.
func TestSources(t *testing.T) {
	s := newScene(t, "4.0.0")
	must(t, Simulation{s.host}.Load(t.Context(), "", Module{Version: "3.4.4"}))
	must(t, Simulation{s.host}.Use(3))
	put(t, s.host.Dir(), moduleDir+"/holders/mxgvm/x", "")
	plugins := t.TempDir()
	listener, err := net.Listen("unix", plugins+"/metax-gpu-device-abc.sock")
	must(t, err)
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	root, err := hostfs.New(plugins)
	must(t, err)
	sources := Sources{
		Host: s.host, Devices: s.host, Plugins: root, Proc: procfs.New("/proc", -1),
		Kubelet: podresources.New(plugins + "/none.sock"), Leases: s.host.Join("/run/metax-container-toolkit/leases"),
	}
	u := sources.Look(t.Context())
	if len(u.Unknown) == 0 || !strings.HasPrefix(u.Unknown[0], "pods with GPUs, which are not known (connect to the kubelet") {
		t.Errorf("not known: %q", u.Unknown)
	}
	u.Unknown = nil           // also processes, where root may not inspect one
	must(t, listener.Close()) // as a kill does
	if after := sources.Look(t.Context()); len(after.Plugin) > 0 {
		t.Errorf("after the plugin was killed: %q", after.Plugin)
	}
	if d := cmp.Diff(Users{Plugin: []string{"metax-gpu-device"}, Modules: []string{"kernel module mxgvm"}, Count: 3}, u); d != "" {
		t.Error(d)
	}
}
