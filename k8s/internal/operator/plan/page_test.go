// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/rollout"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestQuickStart compares the conditions that the pages show of a good cluster, of three nodes
// of which two have GPUs, with what is said of it. The list of a cluster with payload images
// has only what differs from the other.
func TestQuickStart(t *testing.T) {
	const version = "3.7.0.23-amd64"
	driver := &rollout.Driver{Revision: "1", Running: true}
	upgrade := rollout.Decide(rollout.Snapshot{Deployed: true, Revision: "1", Version: version, Desired: 2, Nodes: []rollout.Node{{Name: "node-a", Driver: driver}, {Name: "node-b", Driver: driver}}})
	host := saidOf(t, "{driver: {deployPolicy: Never}}", nil)
	payload := saidOf(t, "{driver: {deployPolicy: PreferHost, payload: {version: "+version+"}}, maca: {payload: {images: ['maca-c500:3.3.0.15']}}}",
		&v1alpha1.DriverUpgradeStatus{Ready: upgrade.Ready, Reason: upgrade.Reason, Message: upgrade.Message})
	var differ []string
	for _, line := range payload {
		if !strings.Contains(strings.Join(host, "\n")+"\n", line+"\n") {
			differ = append(differ, line)
		}
	}
	for _, page := range []string{"../../../../docs/kubernetes-operator.md", "../../../../docs/zh/kubernetes-operator.md"} {
		text := testfile.Read(t, page)
		for name, want := range map[string][]string{"host": host, "payload": differ} {
			_, block, _ := strings.Cut(string(text), "<!-- "+name+" -->\n```text\n")
			block, _, _ = strings.Cut(block, "\n```")
			shown := strings.Split(block, "\n")
			if strings.HasPrefix(shown[0], "$ ") {
				shown = shown[1:]
			}
			if d := cmp.Diff(want, shown); d != "" {
				t.Errorf("%s, %s: - the operator, + the page:\n%s", page, name, d)
			}
		}
	}
}

// saidOf are the conditions of a ClusterOperator, as TYPE: STATUS MESSAGE, once all pods are
// ready.
func saidOf(t *testing.T, spec string, upgrade *v1alpha1.DriverUpgradeStatus) (list []string) {
	t.Helper()
	w := &world{Manifests: manifests(t, ""), present: map[string]*appsv1.DaemonSet{}, nodes: Nodes{
		GPU: 2, Families: map[string]int32{"MXC": 2},
		Reports: map[string]map[string]report.Report{report.MACA: {"node-a": {Ready: true}, "node-b": {Ready: true}}},
	}}
	o := object(t, spec)
	w.run(o)
	for name, set := range w.present {
		if name != "metax-gpu-label" {
			set.Status.DesiredNumberScheduled, set.Status.NumberReady, set.Status.UpdatedNumberScheduled = 2, 2, 2
		}
	}
	o.Status.DriverUpgrade = upgrade
	rendered, err := w.Render(o.Spec)
	plan := Decide(Input{Operator: o, Nodes: w.nodes, Rendered: rendered, Invalid: err, Present: w.present, Looks: Looks{Shown: 2}, Upgrades: true})
	for _, c := range plan.Status.Conditions {
		list = append(list, fmt.Sprintf("%s: %s %s", c.Type, c.Status, c.Message))
	}
	return list
}
