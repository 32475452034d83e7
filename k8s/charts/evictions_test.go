// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

const controllerUser = "system:serviceaccount:metax-operator:metax-operator"

// TestEvictionPolicies: the controller's token evicts only what the ClusterOperator asks for.
func TestEvictionPolicies(t *testing.T) {
	const (
		unsaid      = "an Eviction has to say by the label metax-ctk.io/evicts what its pod is: gpu-pod, pod"
		unrequested = "the ClusterOperator does not ask for this eviction (driver.upgradePolicy)"
		noGPU       = "the pod uses no GPU"
		owners      = "pods of DaemonSets are not evicted, and those without a controller only with the label metax-ctk.io/evicts-alone"

		deletion = "enableRollout: true, podDeletion: {enable: true}"
		drain    = "enableRollout: true, drain: {enable: true}"

		gpus, cpus  = "limits: {metax-tech.com/gpu: 1}", "limits: {cpu: 1}"
		job, daemon = "ownerReferences: [{kind: Job, controller: true}]", "ownerReferences: [{kind: DaemonSet, controller: true}]"
	)
	pod := func(name, owners, resources string) string {
		return fmt.Sprintf("{metadata: {name: %s, %s}, spec: {containers: [{name: a}, {name: b, resources: {%s}}]}}", name, owners, resources)
	}
	mine := pod("p", job, gpus)
	for _, test := range []struct{ what, user, labels, upgrades, pod, want string }{
		{"a pod with GPUs", controllerUser, "evicts: gpu-pod", deletion, mine, ""},
		{"with slices", controllerUser, "evicts: gpu-pod", deletion, pod("p", job, "limits: {metax-tech.com/sgpu: 1}"), ""},
		{"another", controllerUser, "evicts: gpu-pod", deletion, pod("q", daemon, cpus), ""},
		{"no label", controllerUser, "x: y", deletion, mine, unsaid},
		{"another label", controllerUser, "evicts: all", deletion, mine, unsaid},
		{"by others", "user:alice", "x: y", "", pod("p", daemon, cpus), ""},
		{"not requested", controllerUser, "evicts: gpu-pod", "enableRollout: true", mine, unrequested},
		{"no roll-out", controllerUser, "evicts: gpu-pod", "podDeletion: {enable: true}, drain: {enable: true}", mine, unrequested},
		{"paused", controllerUser, "evicts: gpu-pod", deletion + "}}, paused: true, x: {y: {", mine, unrequested},
		{"a pod without GPUs", controllerUser, "evicts: pod", deletion, pod("p", job, cpus), unrequested},
		{"a pod without GPUs as one with", controllerUser, "evicts: gpu-pod", deletion, pod("p", job, cpus), noGPU},
		{"one with GPUs for a virtual machine", controllerUser, "evicts: gpu-pod", deletion, pod("p", job, "limits: {metax-tech.com/vfio-gpu: 1}"), noGPU},
		{"drain", controllerUser, "evicts: pod", drain, pod("p", job, cpus), ""},
		{"drain of a pod with GPUs", controllerUser, "evicts: gpu-pod", drain, mine, ""},
		{"drain of a DaemonSet's", controllerUser, "evicts: pod", drain, pod("p", daemon, cpus), owners},
		{"a DaemonSet's with GPUs", controllerUser, "evicts: gpu-pod", deletion, pod("p", daemon, gpus), owners},
		{"a pod of a node", controllerUser, "evicts: pod", drain, pod("p", "ownerReferences: [{kind: Node, controller: true}]", cpus), owners},
		{"nobody's pod", controllerUser, "evicts: gpu-pod", deletion, pod("p", "x: y", gpus), owners},
		{"nobody's pod, not requested", controllerUser, "evicts: gpu-pod, metax-ctk.io/evicts-alone: 'true'", deletion, pod("p", "x: y", gpus), unrequested},
		{"nobody's pod by force", controllerUser, "evicts: gpu-pod, metax-ctk.io/evicts-alone: 'true'", "enableRollout: true, podDeletion: {enable: true, force: true}", pod("p", "x: y", gpus), ""},
		{"drain by force", controllerUser, "evicts: pod, metax-ctk.io/evicts-alone: 'true'", "enableRollout: true, drain: {enable: true, force: true}", pod("p", "ownerReferences: [{kind: Job}]", cpus), ""},
	} {
		labels := strings.Replace(test.labels, "evicts:", "metax-ctk.io/evicts:", 1)
		eviction := request{test.user, "", "p", "eviction", "", fmt.Sprintf("{metadata: {name: p, labels: {%s}}}", labels)}
		got := admit(t, "metax-operator-operator-evictions", eviction)
		if got == "" && test.labels != "x: y" { // the other two match by the label
			got = admit(t, "metax-operator-operator-evictions-requested", eviction, "{spec: {driver: {upgradePolicy: {"+test.upgrades+"}}}}")
			if got == "" {
				got = admit(t, "metax-operator-operator-evictions-pods", eviction, test.pod)
			}
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.what, got, test.want)
		}
	}
	eviction := request{controllerUser, "", "p", "eviction", "", "{metadata: {labels: {metax-ctk.io/evicts: pod}}}"}
	if got := admit(t, "metax-operator-operator-evictions-requested", eviction, "{spec: {}}"); got != unrequested {
		t.Errorf("a ClusterOperator without a driver: got %q", got)
	}
}

// TestLostGPUEvictions: with onFatal evict, the controller's token evicts a pod whose node
// says that it has a lost GPU.
func TestLostGPUEvictions(t *testing.T) {
	const (
		eviction = `{metadata: {name: p, labels: {metax-ctk.io/evicts: lost-gpu-pod}, annotations: {metax-ctk.io/evicts-from: node-1}}, deleteOptions: {preconditions: {uid: uid-1}}}`
		pod      = "{metadata: {name: p}, spec: {nodeName: node-1, containers: [{name: a, resources: {limits: {metax-tech.com/gpu: 1}}}]}}"
		noNode   = "the pod is not on the node of the annotation metax-ctk.io/evicts-from"
		notLost  = "the node does not say that this pod has a lost GPU"
	)
	node := fmt.Sprintf("{metadata: {name: node-1, annotations: {%s: %q}}}", protocol.FaultsAnnotation,
		protocol.Faults{{UUID: "GPU-0", Code: "missing", Pods: []protocol.PodName{{Namespace: "default", Name: "p", UID: "uid-1"}}}}.String())
	all := objects(t, renderOperator(t, "gpuDevice: {onFatal: evict}"))
	without := func(text, old string) string { return strings.Replace(text, old, "x: y", 1) }
	for _, test := range []struct{ what, operator, eviction, pod, node, want string }{
		{"as it has to be", "{spec: {}}", eviction, pod, node, ""},
		{"another pod's", "{spec: {}}", eviction, strings.Replace(pod, "name: p", "name: q", 1), node, ""},
		{"another node's record", "{spec: {}}", eviction, pod, strings.Replace(node, "name: node-1", "name: node-2", 1), ""},
		{"a DaemonSet's", "{spec: {}}", eviction, strings.Replace(pod, "name: p", "name: p, ownerReferences: [{kind: DaemonSet, controller: true}]", 1), node, ""},
		{"the kubelet's own", "{spec: {}}", eviction, strings.Replace(pod, "name: p", "name: p, ownerReferences: [{kind: Node, controller: true}]", 1), node, "pods of DaemonSets are not evicted, and those without a controller only with the label metax-ctk.io/evicts-alone"},
		{"paused", "{spec: {paused: true}}", eviction, pod, node, "the ClusterOperator does not ask for this eviction (driver.upgradePolicy)"},
		{"no GPU", "{spec: {}}", eviction, without(pod, "metax-tech.com/gpu: 1"), node, "the pod uses no GPU"},
		{"on another node", "{spec: {}}", eviction, strings.Replace(pod, "node-1", "node-2", 1), node, noNode},
		{"on no node", "{spec: {}}", without(eviction, "metax-ctk.io/evicts-from: node-1"), without(pod, "nodeName: node-1"), node, noNode},
		{"not lost", "{spec: {}}", eviction, pod, "{metadata: {name: node-1}}", notLost},
		{"another pod is lost", "{spec: {}}", strings.Replace(eviction, "uid-1", "uid-2", 1), pod, node, notLost},
		{"the beginning of a UID", "{spec: {}}", strings.Replace(eviction, "uid-1", "uid", 1), pod, node, notLost},
		{"any UID", "{spec: {}}", without(eviction, "preconditions: {uid: uid-1}"), pod, node, notLost},
		{"a drain", "{spec: {driver: {upgradePolicy: {enableRollout: true, drain: {enable: true}}}}}", strings.Replace(eviction, "lost-gpu-pod", "pod", 1), pod, node, "an Eviction has to say by the label metax-ctk.io/evicts what its pod is: lost-gpu-pod"},
	} {
		asked := request{controllerUser, "", "p", "eviction", "", test.eviction}
		got := ""
		for _, compared := range []struct{ policy, params string }{{"", ""}, {"-requested", test.operator}, {"-pods", test.pod}, {"-nodes", test.node}} {
			var params []string
			if compared.params != "" {
				params = append(params, compared.params)
			}
			policy := as[admissionregistrationv1.ValidatingAdmissionPolicy](t, all, "ValidatingAdmissionPolicy/metax-operator-operator-evictions"+compared.policy)
			if got = admitBy(t, policy, asked, params...); got != "" {
				break
			}
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.what, got, test.want)
		}
	}
}

// TestEvictionParams: the evictions of others do not depend on the objects that the policies
// compare with.
func TestEvictionParams(t *testing.T) {
	all := objects(t, renderOperator(t, withAll))
	deny, labeled := admissionregistrationv1.DenyAction, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "metax-ctk.io/evicts", Operator: metav1.LabelSelectorOpExists}}}
	lost := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "metax-ctk.io/evicts", Operator: metav1.LabelSelectorOpIn, Values: []string{"lost-gpu-pod"}}}}
	for name, ref := range map[string]*admissionregistrationv1.ParamRef{
		"":           nil,
		"-requested": {Name: "cluster-operator", ParameterNotFoundAction: &deny},
		"-pods":      {Selector: &metav1.LabelSelector{}, ParameterNotFoundAction: &deny},
		"-nodes":     {Selector: &metav1.LabelSelector{MatchLabels: map[string]string{protocol.LabelInstalled: "true"}}, ParameterNotFoundAction: &deny},
	} {
		const of = "metax-operator-operator-evictions"
		policy := as[admissionregistrationv1.ValidatingAdmissionPolicy](t, all, "ValidatingAdmissionPolicy/"+of+name)
		want := (*metav1.LabelSelector)(nil)
		switch {
		case name == "-nodes":
			want = lost
		case ref != nil:
			want = labeled
		}
		if d := cmp.Diff(want, policy.Spec.MatchConstraints.ObjectSelector); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(ref, as[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, all, "ValidatingAdmissionPolicyBinding/"+of+name).Spec.ParamRef); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestRequestPolicy: the controller does not write what is requested of it.
func TestRequestPolicy(t *testing.T) {
	const before = "{metadata: {finalizers: [a]}, spec: {paused: true}}"
	for after, want := range map[string]string{
		"{metadata: {finalizers: []}, spec: {paused: true}}":        "",
		"{metadata: {finalizers: [a]}, spec: {paused: false}}":      "the spec of a ClusterOperator may not be written",
		"{metadata: {finalizers: [a]}}":                             "the spec of a ClusterOperator may not be written",
		"{metadata: {finalizers: [a]}, spec: {paused: true}, x: y}": "",
	} {
		if got := admit(t, "metax-operator-operator-requests", request{controllerUser, "", "cluster-operator", "", before, after}); got != want {
			t.Errorf("%s: got %q, want %q", after, got, want)
		}
	}
	if got := admit(t, "metax-operator-operator-requests", request{"user:alice", "", "cluster-operator", "", before, "{spec: {}}"}); got != "" {
		t.Errorf("by others: %q", got)
	}
}
