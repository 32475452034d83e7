// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// configure merges data into a ConfigMap of the operator.
func (n *node) configure(t *testing.T, name, key, text string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"data": map[string]string{key: text}})
	if err != nil {
		t.Fatal(err)
	}
	n.must(t, "kubectl", "-n", namespace, "patch", "configmap", name, "--type=merge", "-p", string(patch))
}

// says waits until a condition is not true and its message has a text.
func (n *node) says(t *testing.T, kind, text string) {
	t.Helper()
	wait(t, kind+": "+text, func(context.Context) error {
		got := n.must(t, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", fmt.Sprintf(`jsonpath={range .status.conditions[?(@.type=="%s")]}{.status} {.message}{end}`, kind))
		if !strings.HasPrefix(got, "False ") || !strings.Contains(got, text) {
			return fmt.Errorf("it says %q", got)
		}
		return nil
	})
}

// offers waits until the node has a label, and a number of a resource to give.
func (n *node) offers(t *testing.T, name corev1.ResourceName, number int, label, value string) {
	t.Helper()
	wait(t, string(name), func(ctx context.Context) error {
		object, err := n.Client.CoreV1().Nodes().Get(ctx, cluster.NodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if has := object.Status.Allocatable[name]; has.Value() != int64(number) || object.Labels[label] != value {
			return fmt.Errorf("%s of it are allocatable and the label %s is %q, want %d and %q", has.String(), label, object.Labels[label], number, value)
		}
		return nil
	})
}

const vfnum = "metax-tech.com/gpu.vfnum"

// TestVirtualFunctions edits the ConfigMap of virtual functions, with good and bad numbers,
// and while a pod has one.
func TestVirtualFunctions(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	release := n.installOperator(t)
	set := func(t *testing.T, number string) {
		t.Helper()
		n.configure(t, "driver-config", "node-vfnums", "nodes:\n  "+cluster.NodeName+": {vfnum: "+number+"}\n")
	}
	plugin := n.agent(t, "metax-gpu-device").UID
	for _, number := range []int{1, 2, 4, 8} {
		begin := time.Now()
		set(t, fmt.Sprint(number))
		n.offers(t, gpuResource, len(n.gpus)*number, vfnum, fmt.Sprint(number))
		t.Logf("%d virtual functions: after %s", number, time.Since(begin).Round(time.Second))
		n.condition(t, "VirtualFunctionsReady=True Deployed")
		n.condition(t, "Ready=True Deployed")
	}
	if now := n.agent(t, "metax-gpu-device").UID; now != plugin {
		t.Error("the plugin's pod is another one")
	}
	t.Run("in use", func(t *testing.T) {
		n.runs(t, probePod("holder", 1, "pause"))
		set(t, "2")
		n.says(t, "VirtualFunctionsReady", "in use by pod default/holder")
		n.offers(t, gpuResource, len(n.gpus)*8, vfnum, "8")
		n.remove(t, "holder")
		n.offers(t, gpuResource, len(n.gpus)*2, vfnum, "2")
		n.condition(t, "VirtualFunctionsReady=True Deployed")
	})
	t.Run("bad numbers", func(t *testing.T) {
		for _, number := range []string{"3", "16", "four"} {
			set(t, number)
			n.says(t, "VirtualFunctionsReady", fmt.Sprintf("vfnum %q; want 0, 1, 2, 4 or 8 (InvalidConfig)", number))
			n.offers(t, gpuResource, len(n.gpus)*2, vfnum, "2")
		}
		if err := os.WriteFile(n.Path(cluster.NodeDir+"/sys/bus/pci/devices/"+n.gpus[3].BDF+"/sriov_totalvfs"), []byte("4\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		set(t, "8")
		n.says(t, "VirtualFunctionsReady", "GPU "+n.gpus[3].BDF+" can have 4 virtual functions, not 8")
		n.offers(t, gpuResource, len(n.gpus)*2, vfnum, "2")
	})
	set(t, "4")
	n.condition(t, "VirtualFunctionsReady=True Deployed")
	t.Run("edits and mistakes", func(t *testing.T) {
		n.upgrade(t, release, "/metax-operator", "--reuse-values")
		n.condition(t, "ValuesApplied=False Edited")
		n.must(t, "helm", "rollback", release, "1", "-n", namespace, "--wait")
		n.condition(t, "Ready=True Deployed")
		n.offers(t, gpuResource, len(n.gpus)*4, vfnum, "4")
		for text, says := range map[string]string{
			"nodes: {" + cluster.NodeName + ": {vinum: 2}}": "has no vfnum",
			"node: {" + cluster.NodeName + ": {vfnum: 2}}":  `field "node" is not known`,
			"nodes: {node-l: {vfnum: 2}}":                   `no node is named "node-l"`,
		} {
			n.configure(t, "driver-config", "node-vfnums", text)
			n.says(t, "ConfigUnderstood", says)
			n.says(t, "VirtualFunctionsReady", "the GPUs stay as they are")
			n.offers(t, gpuResource, len(n.gpus)*4, vfnum, "4")
		}
	})
	n.configure(t, "driver-config", "node-vfnums", "nodes: {}")
	n.offers(t, gpuResource, len(n.gpus), vfnum, "0")
	n.sets(t, "metax-gpu-device", "metax-gpu-label")
	n.condition(t, "Ready=True Deployed")
	n.uninstall(t, release)
}

const vfioResource = "metax-tech.com/vfio-gpu"

// TestVFIO binds GPUs to vfio-pci: without an IOMMU, with one, and while a pod has one.
func TestVFIO(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	release := n.installOperator(t)
	named := func(t *testing.T, gpus string) {
		t.Helper()
		n.configure(t, "metax-vfio-config", "vfio", "- {nodeName: "+cluster.NodeName+", gpus: ["+gpus+"]}\n")
	}
	n.patch(t, `{"vfioManager": {"deploy": true}}`)
	n.condition(t, "VFIOReady=True Deployed")
	named(t, "0, '"+n.gpus[5].BDF+"', "+n.gpus[6].UUID)
	n.says(t, "VFIOReady", "(IOMMUDisabled)")
	n.allocatable(t, len(n.gpus))

	// The IOMMU is switched on, and vfio-pci is loaded.
	script := "mkdir -p sys/bus/pci/drivers/vfio-pci/module dev/vfio; mknod dev/vfio/vfio c 10 196"
	for i, g := range n.gpus {
		script += fmt.Sprintf("; mkdir -p sys/kernel/iommu_groups/%d; ln -s /sys/kernel/iommu_groups/%d sys/bus/pci/devices/%s/iommu_group", 20+i, 20+i, g.BDF)
	}
	n.must(t, "sh", "-ec", "cd "+cluster.NodeDir+"; "+script)
	n.offers(t, vfioResource, 3, "metax-tech.com/vfio.ready", "true")
	n.allocatable(t, len(n.gpus)-3)
	n.condition(t, "VFIOReady=True Deployed")

	vm := probePod("vm", 0, "pause")
	vm.Spec.Containers[0].Resources.Limits = corev1.ResourceList{vfioResource: resource.MustParse("1")}
	n.runs(t, vm)
	n.patch(t, `{"vfioManager": {"deploy": false}}`)
	n.says(t, "VFIOReady", "in use by pod default/vm")
	n.allocatable(t, len(n.gpus)-1)
	n.remove(t, "vm")
	n.allocatable(t, len(n.gpus))
	n.sets(t, "metax-gpu-device", "metax-gpu-label")
	n.condition(t, "Ready=True Deployed")
	n.uninstall(t, release)
}
