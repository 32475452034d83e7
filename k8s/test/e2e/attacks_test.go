package e2e

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// An attack is a request that the API server must refuse, and words of its refusal. Its body is a merge patch, or that
// of a POST where a path says so.
type attack struct{ what, path, body, want string }

// attackAs runs attacks with the token that a pod of a service account has, as from a node that was taken over;
// "" is the administrator.
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
		err := request.AbsPath("/api/v1", path).Body([]byte(a.body)).Do(within(t)).Error()
		if err == nil || !strings.Contains(err.Error(), a.want) {
			t.Errorf("%s: %v; want a refusal with %q", a.what, err, a.want)
		}
	}
	log, err := os.ReadFile(n.Path(cluster.AuditLog))
	if err != nil {
		t.Fatal(err)
	}
	n.audited = strings.LastIndexByte(string(log), '\n') + 1 // these refusals are wanted
}

// stolenToken tries what gpu-device's token of this node must not do with a pod, the Node and bindings.
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
