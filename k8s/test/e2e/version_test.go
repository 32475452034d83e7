// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// versionsVariable names the JSON file to which TestVersion adds what it found.
const versionsVariable = "METAX_K8S_VERSIONS"

// versionRun is what TestVersion found with a version of Kubernetes.
type versionRun struct {
	Engine string            `json:"engine"` // as the node says, such as containerd://1.6.20
	CDI    bool              `json:"cdi"`    // whether pods get GPUs by CDI
	Rows   map[string]string `json:"rows"`   // "passed", "failed", or the version that a row needs, such as "1.30"
}

// TestVersion does with one cluster what users do, in rows that are the same for each version
// of Kubernetes: the page of the cluster side has them as a table.
func TestVersion(t *testing.T) {
	t.Parallel()
	run := versionRun{Rows: map[string]string{}}
	defer run.record(t)
	n := newNode(t, "c500-8")
	info := n.object(t).Status.NodeInfo
	if want, engine := "v"+fixtures.Kubernetes.String(), engineOf(t); info.KubeletVersion != want || !strings.HasPrefix(info.ContainerRuntimeVersion, engine) {
		t.Fatalf("the node has %+v, want the kubelet %s and %s", info, want, engine)
	}
	v := versionTest{node: n, before: n.trace(t), engine: n.engineFiles(t)}
	v.cdi = fixtures.AtLeast("1.29") && !strings.HasPrefix(info.ContainerRuntimeVersion, "containerd://1.")
	run.Engine, run.CDI = info.ContainerRuntimeVersion, v.cdi
	for _, row := range []struct {
		name  string
		since string // the first version that has what the row is about
		run   func(*testing.T)
	}{
		{"pods", "1.0", v.installsChart},
		{"labels", "1.0", v.describesNode},
		{"health", "1.0", func(t *testing.T) { n.fallAndRecover(t); n.shareRest(t) }},
		{"health of devices", "1.36", v.showsDevices},
		{"policies", "1.30", func(t *testing.T) { n.stolenToken(t, "keeps") }},
		{"upgrade", "1.0", v.upgradesChart},
		{"gpu-aware", "1.0", v.placesPod},
		{"gangs", "1.36", v.placesGangs}, // before, their objects were others
		{"uninstall", "1.0", v.removesChart},
		{"operator", "1.0", v.installsOperator},
	} {
		if !fixtures.AtLeast(row.since) {
			run.Rows[row.name] = row.since
			continue
		}
		ran := false // -run can leave it out
		passed := t.Run(row.name, func(t *testing.T) {
			ran = true
			row.run(t)
		})
		if !passed {
			run.Rows[row.name] = "failed"
			return // the node is not what the next row expects
		}
		if ran {
			run.Rows[row.name] = "passed"
		}
	}
}

// engineOf is how the engine of the node begins that belongs to the version.
func engineOf(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../cluster/versions")
	if err != nil {
		t.Fatal(err)
	}
	minor := fmt.Sprintf("%d.%d.", fixtures.Kubernetes.Major(), fixtures.Kubernetes.Minor())
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); strings.HasPrefix(line, minor) && len(fields) == 3 {
			return "containerd://" + fields[2] + "."
		}
	}
	t.Fatalf("k8s/test/cluster/versions has no version %s", minor)
	return ""
}

// record adds what was found to the file of versionsVariable.
func (r *versionRun) record(t *testing.T) {
	t.Helper()
	file := os.Getenv(versionsVariable)
	if file == "" {
		return
	}
	runs := map[string]versionRun{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &runs)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	runs[fixtures.Kubernetes.String()] = *r
	if text, err = json.MarshalIndent(runs, "", "  "); err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// versionTest is what the rows of TestVersion share.
type versionTest struct {
	*node
	before  map[string][]string // the cluster and the node
	engine  map[string]string   // the files of containerd before
	cdi     bool
	release string
	asks    string // the configuration of a scheduler that asks gpu-aware
}

// installsChart installs the chart, and lets a pod with four GPUs look, and another keep them.
func (v *versionTest) installsChart(t *testing.T) {
	v.release = v.install(t, "--set", "readers[0].kind=ServiceAccount,readers[0].name=reader,readers[0].namespace="+namespace)
	v.account(t, "reader", namespace)
	if seen := v.seen(t, v.look(t, "four", 4)); len(seen) != 4 {
		t.Errorf("the pod has the GPUs %d, want four", seen)
	}
	v.remove(t, "four")
	want := fmt.Sprintf(`"cdi":%t`, v.cdi)
	if log := v.must(t, "kubectl", "logs", "-n", namespace, "daemonset/metax-gpu-device", "-c", "gpu-device"); !strings.Contains(log, want) {
		t.Errorf("the plugin does not say %s:\n%s", want, log)
	}
	v.must(t, "helm", "test", v.release, "-n", namespace)
	v.create(t, probePod("keeps", 4, "pause"))
	v.phase(t, "keeps", corev1.PodRunning)
}

// describesNode wants the labels and conditions of the node.
func (v *versionTest) describesNode(t *testing.T) {
	v.labels(t, "gpu.installed=true", "gpu.product=C500", "gpu.family=MXC", "gpu.memory=64GB", "gpu.vfnum=0", "driver.ready=true")
	var conditions []string
	for _, c := range v.object(t).Status.Conditions {
		if strings.HasPrefix(string(c.Type), "MetaX") {
			conditions = append(conditions, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
		}
	}
	slices.Sort(conditions)
	want := []string{"MetaXGPULost=False NoGPULost", "MetaXGPUModePending=False ModeAsConfigured", "MetaXGPUUnhealthy=False AllGPUsHealthy"}
	if d := cmp.Diff(want, conditions); d != "" {
		t.Error(d)
	}
}

// showsDevices lets a GPU of a pod become unhealthy: the kubelet says so in the status of the pod,
// and kubectl metax shows it.
func (v *versionTest) showsDevices(t *testing.T) {
	gpu := v.given(t, "keeps")[0]
	v.setHealthy(t, gpu, false)
	wait(t, "the status of the pod", func(ctx context.Context) error {
		pod, err := v.pods().Get(ctx, "keeps", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, r := range pod.Status.ContainerStatuses[0].AllocatedResourcesStatus {
			for _, device := range r.Resources {
				if r.Name == gpuResource && string(device.ResourceID) == v.gpus[gpu].UUID && device.Health == corev1.ResourceHealthStatusUnhealthy {
					return nil
				}
			}
		}
		return fmt.Errorf("the kubelet says %+v", pod.Status.ContainerStatuses[0].AllocatedResourcesStatus)
	})
	for _, line := range []string{"why keeps", "top pod keeps"} {
		out, err := v.metax(within(t), "reader", strings.Fields(line)...)
		if want := "unhealthy: " + v.gpus[gpu].UUID; err != nil || !strings.Contains(out, want) {
			t.Errorf("kubectl metax %s: %v, want %q in\n%s", line, err, want, out)
		}
	}
	v.setHealthy(t, gpu, true)
	v.unhealthy(t, corev1.ConditionFalse)
}

// upgradesChart goes to the next chart and back while a pod has GPUs.
func (v *versionTest) upgradesChart(t *testing.T) {
	gpus, sockets := v.given(t, "keeps"), v.sockets(t)
	v.must(t, "helm", append([]string{
		"upgrade", v.release, "oci://" + project + "/metax-gpu-extensions", "--version", "999.0.0", "-n", namespace, "--wait", "--set", "log.level=debug",
	}, values...)...)
	v.anotherSocket(t, sockets)
	sockets = v.sockets(t)
	v.must(t, "helm", "rollback", v.release, "1", "-n", namespace, "--wait")
	v.anotherSocket(t, sockets)
	v.shareRest(t)
	if got := v.given(t, "keeps"); !slices.Equal(got, gpus) {
		t.Errorf("the pod had the GPUs %d, and has %d after the upgrade", gpus, got)
	}
	v.remove(t, "keeps")
}

// placesPod gives the scheduler's file of the chart to the scheduler, which then places four GPUs
// on the node where they are linked best.
func (v *versionTest) placesPod(t *testing.T) {
	v.must(t, "kubectl", "label", "node", cluster.NodeName, "node-role.kubernetes.io/control-plane=")
	v.upgrade(t, v.release, "/metax-gpu-extensions", "--reuse-values", "--set", "deployExtenderGPUAware=true")
	v.allowRights(t, v.release)
	v.upgrade(t, v.release, "/metax-gpu-extensions", "--reuse-values") // now its Service has an address
	v.createNodesOf(t, map[string][]int{"quad": {0, 1, 2, 3}, "halves": {0, 1, 4, 5}})
	v.must(t, "kubectl", "rollout", "restart", "-n", awareNamespace, "daemonset/metax-gpu-aware")
	v.must(t, "kubectl", "rollout", "status", "-n", awareNamespace, "daemonset/metax-gpu-aware", "--timeout=60s")
	v.reachesAware(t)
	v.asks = v.must(t, "kubectl", "get", "cm", "-n", awareNamespace, "metax-gpu-aware-scheduler", "-o", `jsonpath={.data.extender\.yaml}`)
	if err := v.Reschedule(within(t), v.asks); err != nil {
		t.Fatal(err)
	}
	v.create(t, gpuPod("aware", 4, "made"))
	if got := v.bound(t, "aware").Spec.NodeName; got != "quad" {
		t.Errorf("the pod is on %s; the end of the scheduler's log:\n%s", got, v.Daemon("kube-scheduler").Tail(10))
	}
	v.must(t, "kubectl", "delete", "pod", "aware", "--force")
	v.must(t, "kubectl", "delete", "node", "quad", "halves") // nothing can be cleaned there
}

// removesChart uninstalls the chart, which leaves nothing.
func (v *versionTest) removesChart(t *testing.T) {
	v.uninstall(t, v.release)
	v.must(t, "kubectl", "delete", "serviceaccount", "reader", "-n", namespace)
	v.isAsBefore(t, v.before, v.engine)
}

// installsOperator installs the other chart, and removes it.
func (v *versionTest) installsOperator(t *testing.T) {
	release := v.installOperator(t)
	if seen := v.seen(t, v.look(t, "four", 4)); len(seen) != 4 {
		t.Errorf("the pod has the GPUs %d, want four", seen)
	}
	v.remove(t, "four")
	for _, component := range []string{"Labelgen", "DevicePlugin"} {
		v.condition(t, component+"Ready=True Deployed")
	}
	v.condition(t, "NodesValidated=True Validated")
	v.condition(t, "Ready=True Deployed")
	v.must(t, "helm", "test", release, "-n", namespace)
	v.uninstall(t, release)
	v.isAsBefore(t, v.before, v.engine)
}
