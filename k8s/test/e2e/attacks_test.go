// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// An attack is a request that the API server must refuse, and words of its refusal; without
// any, it must be answered. Its body is a merge patch, or that of a POST where a path says so.
// A path is below /api/v1 unless it is absolute.
type attack struct{ what, path, body, want string }

// attackAs runs attacks with the token that a pod of a service account has, as from a node
// that was taken over; "" is the administrator.
func (n *node) attackAs(t *testing.T, account string, attacks []attack) {
	t.Helper()
	n.useRights(t, false)
	client := n.Client
	if account != "" {
		pod := n.agent(t, account)
		config := rest.AnonymousClientConfig(n.Config)
		config.BearerToken = strings.TrimSpace(n.must(t, "kubectl", "create", "token", account, "-n", pod.Namespace,
			"--bound-object-kind=Pod", "--bound-object-name="+pod.Name, "--bound-object-uid="+string(pod.UID)))
		var err error
		if client, err = kubernetes.NewForConfig(config); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range attacks {
		verb, path, _ := strings.Cut(a.path, " ")
		request := client.CoreV1().RESTClient().Patch(types.MergePatchType)
		if verb == "POST" {
			request = client.CoreV1().RESTClient().Post().SetHeader("Content-Type", "application/json")
		}
		if !strings.HasPrefix(path, "/") {
			path = "/api/v1/" + path
		}
		err := request.AbsPath(path).Body([]byte(a.body)).Do(within(t)).Error()
		if (err == nil) != (a.want == "") || err != nil && !strings.Contains(err.Error(), a.want) {
			t.Errorf("%s: %v; want a refusal with %q", a.what, err, a.want)
		}
	}
	log, err := os.ReadFile(n.Path(cluster.AuditLog))
	if err != nil {
		t.Fatal(err)
	}
	n.audited = strings.LastIndexByte(string(log), '\n') + 1 // these refusals are wanted
}

// stolenToken tries what gpu-device's token of this node must not do with a pod, the Node and
// bindings.
func (n *node) stolenToken(t *testing.T, pod string) {
	const (
		pods, node = "PATCH namespaces/default/pods/", "PATCH nodes/" + cluster.NodeName
		ofPod      = "of a pod, only the annotations"
		ofNode     = "of the status, only the conditions"
	)
	n.attackAs(t, "metax-gpu-device", []attack{
		{"an image", pods + pod, `{"spec": {"activeDeadlineSeconds": 1}}`, `cannot patch resource "pods"`},
		{"the status of a pod", pods + pod + "/status", `{"status": {"message": "evil"}}`, ofPod},
		{"a label of a pod", pods + pod + "/status", `{"metadata": {"labels": {"app": "bank"}}}`, ofPod},
		{"another annotation of a pod", pods + pod + "/status", `{"metadata": {"annotations": {"metax-ctk.io/gpus": "0"}}}`, ofPod},
		{"the version of the kubelet", node + "/status", `{"status": {"nodeInfo": {"kubeletVersion": "v9"}}}`, ofNode},
		{"volumes attached", node + "/status", `{"status": {"volumesAttached": [{"name": "v", "devicePath": "/dev/sda"}]}}`, ofNode},
		{"a taint", node, `{"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}`, "taints and the rest"},
		{"a binding", "POST namespaces/default/bindings", `{"metadata": {"name": "` + pod + `"}, "target": {"name": "x"}}`, `cannot create resource "bindings"`},
	})
	chosen := `{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "` + pod + `", "annotations": {"metax-tech.com/gpu-devices-allocated": "[]"}}, "target": {"name": "` + cluster.NodeName + `"}}`
	n.attackAs(t, "", []attack{
		{"slices by a binding", "POST namespaces/default/bindings", chosen, "may be written by schedulers only"},
		{"slices by a binding of the pod", "POST namespaces/default/pods/" + pod + "/binding", chosen, "may be written by schedulers only"},
	})
}

// stolenController tries what the token of the operator's controller must not do: with what is
// requested, and with pods. pod requests GPUs and has no controller; in the end it is evicted.
func (n *node) stolenController(t *testing.T, pod string) {
	const requested, of = "PATCH /apis/gpu.metax-tech.com/v1alpha1/clusteroperators/cluster-operator", "has to say by the label"
	evict := func(what, namespace, name, labels, want string) attack {
		return attack{what, "POST namespaces/" + namespace + "/pods/" + name + "/eviction", `{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "` + name + `", "labels": {` + labels + `}}}`, want}
	}
	const gpus, any, alone = `"metax-ctk.io/evicts": "gpu-pod"`, `"metax-ctk.io/evicts": "pod"`, `, "metax-ctk.io/evicts-alone": "true"`
	own := n.agent(t, "metax-operator").Name
	n.attackAs(t, "metax-operator", []attack{
		{"what is requested", requested, `{"spec": {"driver": {"upgradePolicy": {"drain": {"enable": true}}}}}`, "the spec of a ClusterOperator may not be written"},
		{"a pod of its own", "POST namespaces/" + namespace + "/pods", `{"metadata": {"name": "x"}, "spec": {"containers": [{"name": "x", "image": "x"}]}}`, "only pods that look at a GPU may be created"},
		evict("any pod", "default", pod, "", of),
		evict("a pod with GPUs", "default", pod, gpus+alone, "does not ask for this eviction"),
		evict("a pod without GPUs", namespace, own, any, "does not ask for this eviction"),
		evict("a pod whose GPU is not lost", "default", pod, `"metax-ctk.io/evicts": "lost-gpu-pod"}, "annotations": {"metax-ctk.io/evicts-from": "`+cluster.NodeName+`"`, "the node does not say that this pod has a lost GPU"),
		evict("from a node that does not exist", "default", pod, `"metax-ctk.io/evicts": "lost-gpu-pod"}, "annotations": {"metax-ctk.io/evicts-from": "x"`, "the pod is not on the node"),
		{"the record of lost GPUs", "PATCH nodes/" + cluster.NodeName, `{"metadata": {"annotations": {"` + protocol.FaultsAnnotation + `": "[]"}}}`, "of a Node's metadata, only"},
	})
	n.patch(t, `{"driver": {"upgradePolicy": {"podDeletion": {"enable": true, "force": true}}}}`)
	n.attackAs(t, "metax-operator", []attack{
		evict("a pod without GPUs, requested for others", namespace, own, any, "does not ask for this eviction"),
		evict("a pod without GPUs that is called one with GPUs", namespace, own, gpus, "the pod uses no GPU"),
		evict("a pod that nobody creates again", "default", pod, gpus, "those without a controller only with the label"),
		evict("what is requested", "default", pod, gpus+alone, ""),
	})
}
