// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestOperatorAll has a node without driver and MXMACA, and one installation that brings every
// component of the operator. Then the controller writes nothing more, and an uninstallation
// takes back what is not for pods that run.
func TestOperatorAll(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.withoutDriver(t)
	n.must(t, "sh", "-c", "rm -r "+cluster.NodeDir+"/opt/maca*")
	engine := n.engineFiles(t)
	release := n.beginOperator(t, append(driverValues("PreferCloud", oldDriver),
		"--set", "driver.upgradePolicy.enableRollout=true", "--set", "gpuDevice.onFatal=evict",
		"--set", "maca.payload.images={maca-c500:3.8.0.1}", "--set", "maca.payload.registry="+path.Dir(macaImages),
		"--set", "runtime.config.cdiMode=false", "--set", "dataExporter.deploy=true", "--set", "vfioManager.deploy=true",
		"--set", fmt.Sprintf("vfnumsConfig.nodes.%s.vfnum=2", cluster.NodeName))...)
	n.restartEngine(t)
	n.driver(t, oldDriver)
	n.offers(t, gpuResource, len(n.gpus)*2, vfnum, "2")
	for _, component := range []string{"Driver", "MACA", "Runtime", "DataExporter", "VirtualFunctions", "VFIO"} {
		n.condition(t, component+"Ready=True Deployed")
	}
	n.condition(t, "Ready=True Deployed")
	n.looked(t, true)
	t.Run("writes nothing but its Lease", n.writesOnlyLease)
	n.look(t, "looks", 2)
	if r := n.report(t, "looks"); len(r.Driver) == 0 {
		t.Error("/opt/mxdriver/bin of the container is empty")
	}
	n.hasMACA(t, "looks", "3.8.0.1")
	t.Run("a stolen token", func(t *testing.T) { n.stolenController(t, "looks") })
	n.uninstall(t, release)
	n.driver(t, oldDriver)
	if d := cmp.Diff(engine, n.engineFiles(t)); d != "" {
		t.Errorf("containerd's files before (-) and after the uninstallation (+):\n%s", d)
	}
}
