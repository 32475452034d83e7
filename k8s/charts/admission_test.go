// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	plugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// request is what an agent writes. The objects are YAML; node is the node in its token.
type request struct {
	agent, node, name, sub string
	before, after          string
}

// TestNodePolicy has what agents write to nodes, and the message of the refusal, "" if it is
// allowed.
func TestNodePolicy(t *testing.T) {
	const device, label = "metax-gpu-device", "metax-gpu-label"
	const plain = "{metadata: {labels: {x: z}, annotations: {a: b}}, spec: {taints: [{key: k}]}, status: {capacity: {cpu: 4}, conditions: [{type: Ready, status: 'True'}]}}"
	change := func(old, replacement string) string {
		if !strings.Contains(plain, old) {
			t.Fatalf("the node has no %s", old)
		}
		return strings.Replace(plain, old, replacement, 1)
	}
	const (
		otherNode   = "an agent may write only to the node that it runs on"
		labels      = "of the labels, only metax-tech.com/ may be written, by metax-gpu-label"
		annotations = "of the annotations, only metax-tech.com/ and topology.metax-ctk.io/ may be written, and hami.io/mutex.lock removed, by metax-gpu-device, and metax-ctk.io/components by metax-gpu-label"
		spec        = "taints and the rest of the node's spec, finalizers and owners may not be written"
		status      = "of the status, only the conditions MetaXGPUUnhealthy, MetaXGPULost and MetaXGPUModePending may be written"
	)
	scores := change("{a: b}", "{a: b, metax-tech.com/gpu.topology.scores: '{}', topology.metax-ctk.io/state: '{}'}")
	reports := change("{a: b}", "{a: b, metax-ctk.io/components: '{}'}")
	installed := change("{x: z}", "{x: z, metax-tech.com/gpu.installed: 'true'}")
	condition := change("'True'}", "'True'}, {type: MetaXGPUUnhealthy, status: 'True'}")
	for _, test := range []struct {
		what string
		request
		want string
	}{
		{"own annotations", request{device, "a", "a", "", plain, scores}, ""},
		{"reports of the operator's agents", request{label, "a", "a", "", plain, reports}, ""},
		{"reports of another program", request{device, "a", "a", "", plain, reports}, annotations},
		{"own annotations gone", request{device, "a", "a", "", scores, plain}, ""},
		{"nothing", request{device, "a", "a", "", plain, plain}, ""},
		{"a node without annotations", request{device, "a", "a", "", "{metadata: {}, spec: {}}", "{metadata: {annotations: {metax-tech.com/a: b}}, spec: {}}"}, ""},
		{"another node", request{device, "a", "b", "", plain, scores}, otherNode},
		{"a token without a node", request{device, "", "a", "", plain, scores}, otherNode},
		{"the annotation of others", request{device, "a", "a", "", plain, change("{a: b}", "{a: c}")}, annotations},
		{"the annotation of others gone", request{device, "a", "a", "", plain, change("{a: b}", "{}")}, annotations},
		{"the lock released", request{device, "a", "a", "", change("{a: b}", "{a: b, hami.io/mutex.lock: 'x,y,z'}"), plain}, ""},
		{"the lock taken", request{device, "a", "a", "", plain, change("{a: b}", "{a: b, hami.io/mutex.lock: 'x,y,z'}")}, annotations},
		{"the lock changed", request{device, "a", "a", "", change("{a: b}", "{a: b, hami.io/mutex.lock: 'x,y,z'}"), change("{a: b}", "{a: b, hami.io/mutex.lock: 'x,y,w'}")}, annotations},
		{"the lock released by the labeler", request{label, "a", "a", "", change("{a: b}", "{a: b, hami.io/mutex.lock: 'x,y,z'}"), plain}, annotations},
		{"labels by the plugin", request{device, "a", "a", "", plain, installed}, labels},
		{"a taint gone", request{device, "a", "a", "", plain, change("[{key: k}]", "[]")}, spec},
		{"a finalizer", request{device, "a", "a", "", plain, change("{labels", "{finalizers: [x.io/y], labels")}, spec},
		{"the condition", request{device, "a", "a", "status", plain, condition}, ""},
		{"the other condition", request{device, "a", "a", "status", plain, strings.ReplaceAll(condition, "Unhealthy", "ModePending")}, ""},
		{"the condition gone", request{device, "a", "a", "status", condition, plain}, ""},
		{"the condition of another node", request{device, "b", "a", "status", plain, condition}, otherNode},
		{"the condition of others", request{device, "a", "a", "status", plain, change("'True'", "'False'")}, status},
		{"capacity", request{device, "a", "a", "status", plain, change("{cpu: 4}", "{cpu: 4, metax-tech.com/gpu: 9}")}, status},
		{"the version of the kubelet", request{device, "a", "a", "status", plain, change("{capacity", "{nodeInfo: {kubeletVersion: v2}, capacity")}, status},
		{"volumes attached", request{device, "a", "a", "status", plain, change("{capacity", "{volumesAttached: [{name: v, devicePath: /dev/sda}], capacity")}, status},
		{"images", request{device, "a", "a", "status", plain, change("{capacity", "{images: [{names: [i]}], capacity")}, status},
		{"volumes attached gone", request{label, "a", "a", "status", change("{capacity", "{volumesAttached: [{name: v}], capacity"), plain}, status},
		{"labels", request{label, "a", "a", "", plain, installed}, ""},
		{"labels gone", request{label, "a", "a", "", installed, plain}, ""},
		{"labels of others", request{label, "a", "a", "", plain, change("{x: z}", "{x: z, node-role.kubernetes.io/control-plane: ''}")}, labels},
		{"labels of others gone", request{label, "a", "a", "", plain, change("{x: z}", "{}")}, labels},
		{"labels of another node", request{label, "b", "a", "", plain, installed}, otherNode},
		{"annotations by the labeler", request{label, "a", "a", "", plain, scores}, annotations},
		{"anything by others", request{"kubelet", "b", "a", "", plain, change("{x: z}", "{}")}, ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			if got := admit(t, "metax-gpu-extensions-nodes", test.request); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestEventPolicy(t *testing.T) {
	const refused = "an agent may write Events only about the node that it runs on"
	for object, want := range map[string]string{
		"{involvedObject: {kind: Node, name: a}}": "",
		"{involvedObject: {kind: Node, name: b}}": refused,
		"{involvedObject: {kind: Pod, name: a}}":  refused,
		"{involvedObject: {kind: Node}}":          refused,
	} {
		if got := admit(t, "metax-gpu-extensions-events", request{"metax-gpu-device", "a", "x", "", "", object}); got != want {
			t.Errorf("%s: got %q, want %q", object, got, want)
		}
	}
}

// TestPodPolicy lets the plugin end the phase "allocating" of its pods, and write their GPUs,
// and nothing else.
func TestPodPolicy(t *testing.T) {
	const (
		device    = "metax-gpu-device"
		plain     = "{metadata: {labels: {x: z}, annotations: {a: b, hami.io/bind-phase: allocating}}, spec: {nodeName: a, containers: [{image: i}]}, status: {phase: Pending}}"
		none      = "an agent may create and bind no pods"
		otherNode = "an agent may write only to pods of the node that it runs on"
		more      = "of a pod, only the annotations metax-ctk.io/gpus-given, BAIDU_COM_DEVICE_IDX and, while it is allocating, hami.io/bind-phase may be written"
	)
	change := func(old, replacement string) string { return strings.Replace(plain, old, replacement, 1) }
	success := change("allocating", "success")
	for _, test := range []struct {
		what string
		request
		want string
	}{
		{"the phase", request{device, "a", "p", "", plain, success}, ""},
		{"the phase of a pod of another node", request{device, "b", "p", "", plain, success}, otherNode},
		{"without a node in the token", request{device, "", "p", "", plain, success}, otherNode},
		{"the phase again", request{device, "a", "p", "", success, change("allocating", "failed")}, more},
		{"its GPUs", request{device, "a", "p", "", success, change("allocating", "success, metax-ctk.io/gpus-given: GPU-1")}, ""},
		{"its GPUs by index", request{device, "a", "p", "", success, change("allocating", "success, BAIDU_COM_DEVICE_IDX: '0,1'")}, ""},
		{"its GPUs and a chosen one", request{device, "a", "p", "", success, change("allocating", "success, metax-ctk.io/gpus-given: GPU-1, metax-ctk.io/gpus: GPU-1")}, more},
		{"the GPUs of a pod of another node", request{device, "b", "p", "", success, change("allocating", "success, metax-ctk.io/gpus-given: GPU-1")}, otherNode},
		{"the phase through the status", request{device, "a", "p", "status", plain, success}, ""},
		{"its GPUs through the status", request{device, "a", "p", "status", success, change("allocating", "success, metax-ctk.io/gpus-given: GPU-1")}, ""},
		{"the phase of a pod of another node through the status", request{device, "b", "p", "status", plain, success}, otherNode},
		{"a label through the status", request{device, "a", "p", "status", plain, change("x: z", "x: y")}, more},
		{"a finalizer through the status", request{device, "a", "p", "status", plain, change("{labels", "{finalizers: [x.io/y], labels")}, more},
		{"the status", request{device, "a", "p", "status", plain, change("Pending", "Failed")}, more},
		{"a condition", request{device, "a", "p", "status", plain, change("{phase", "{conditions: [{type: Ready}], phase")}, more},
		{"a pod", request{device, "a", "p", "", "", plain}, none},
		{"a binding", request{device, "a", "p", "binding", "", "{target: {name: a}}"}, none},
		{"another annotation", request{device, "a", "p", "", plain, change("a: b", "a: c")}, more},
		{"a label", request{device, "a", "p", "", plain, change("x: z", "x: y")}, more},
		{"an image", request{device, "a", "p", "", plain, change("image: i", "image: j")}, more},
		{"a finalizer", request{device, "a", "p", "", plain, change("{labels", "{finalizers: [x.io/y], labels")}, more},
		{"others", request{"user:alice", "", "p", "", plain, change("a: b", "a: c")}, ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			if got := admit(t, "metax-gpu-extensions-pods", test.request); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestSlicePolicy lets only schedulers choose slices for pods.
func TestSlicePolicy(t *testing.T) {
	const (
		hami, koordinator, user = "system:serviceaccount:kube-system:hami-scheduler", "system:serviceaccount:koordinator-system:koord-scheduler", "user:alice"
		plain                   = "{metadata: {annotations: {metax-tech.com/sgpu-qos-policy: fixed-share}}}"
		chosen                  = "{metadata: {annotations: {metax-tech.com/gpu-devices-allocated: '[]'}}}"
		other                   = "{metadata: {annotations: {metax-tech.com/gpu-devices-allocated: '[[]]', other: '1'}}}"
		time                    = "{metadata: {annotations: {metax-tech.com/predicate-time: '1'}}}"
		none                    = "{metadata: {}}"
		refused                 = "the annotations metax-tech.com/gpu-devices-allocated and metax-tech.com/predicate-time may be written by schedulers only (admissionPolicy.schedulers)"
	)
	for _, test := range []struct {
		what string
		request
		want string
	}{
		{"a user makes a pod", request{user, "", "a", "", "", plain}, ""},
		{"a user makes a pod without annotations", request{user, "", "a", "", "", none}, ""},
		{"a user makes a pod with slices", request{user, "", "a", "", "", chosen}, refused},
		{"a user makes a pod with a time", request{user, "", "a", "", "", time}, refused},
		{"a user chooses slices", request{user, "", "a", "", plain, chosen}, refused},
		{"a user changes slices", request{user, "", "a", "", chosen, other}, refused},
		{"a user removes slices", request{user, "", "a", "", chosen, none}, refused},
		{"a user changes something else", request{user, "", "a", "", other, strings.Replace(other, "'1'", "'2'", 1)}, ""},
		{"the kubelet writes the status", request{"system:node:a", "", "a", "status", chosen, chosen}, ""},
		{"the kubelet chooses slices", request{"system:node:a", "", "a", "status", none, chosen}, refused},
		{"a user binds with slices", request{user, "", "a", "binding", "", chosen}, refused},
		{"the plugin chooses slices", request{"metax-gpu-device", "a", "a", "", plain, chosen}, refused},
		{"HAMi chooses slices", request{hami, "", "a", "", plain, chosen}, ""},
		{"HAMi writes the time", request{hami, "", "a", "", plain, time}, ""},
		{"Koordinator chooses slices", request{koordinator, "", "a", "", plain, chosen}, ""},
		{"HAMi of another namespace", request{strings.Replace(hami, "kube-system", "team", 1), "", "a", "", plain, chosen}, refused},
	} {
		t.Run(test.what, func(t *testing.T) {
			if got := admit(t, "metax-gpu-extensions-slices", test.request); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestPodPolicyKinds wants the policies about pods to see every way by which a pod's
// annotations can be written.
func TestPodPolicyKinds(t *testing.T) {
	all := objects(t, mustRender(t, "1.34.4", ""))
	for _, name := range []string{"pods", "slices"} {
		policy := as[admissionregistrationv1.ValidatingAdmissionPolicy](t, all, "ValidatingAdmissionPolicy/metax-gpu-extensions-"+name)
		rule := policy.Spec.MatchConstraints.ResourceRules[0]
		if d := cmp.Diff([]string{"pods", "pods/status", "pods/binding", "bindings"}, rule.Resources); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff([]admissionregistrationv1.OperationType{"CREATE", "UPDATE"}, rule.Operations); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestPodRights: no role may patch pods, and pods/status only under the policy or where a
// value needs it. NOTES say what is left.
func TestPodRights(t *testing.T) {
	const (
		own, nodes, pods = "tie them to their own node", "can patch labels, annotations, taints and status of every Node; ", "of every pod; it cannot change what a pod runs"
	)
	for _, test := range []struct {
		kubernetes, values string
		told               bool
		note               string
	}{
		{"1.30.0", "", true, own},
		{"1.34.4", "", true, own},
		{"1.29.0", "", false, nodes},
		{"1.34.4", "admissionPolicy: {deploy: false}", false, nodes},
		{"1.29.0", "gpuDevice: {kunlunxinDevices: true}", true, pods},
		{"1.29.0", "gpuDevice: {sGPUHybridMode: true}", true, pods},
		{"1.29.0", "gpuDevice: {config: {mode: sgpu}}", true, pods},
		{"1.29.0", "gpuDevice: {config: {mode: shared, nodes: [{nodeName: a, mode: sgpu}]}}", true, pods},
		{"1.29.0", `gpuDevice: {cmInit: {config: {cluster-config: "mode: \"sgpu\"\n"}}}`, true, pods},
		{"1.29.0", "gpuDevice: {cmInit: {config: \"data:\\n  nodes-config: |\\n    - {nodeName: a, mode: sgpu}\\n\"}}", true, pods},
		{"1.29.0", "gpuDevice: {cmInit: {config: {cluster-config: 'mode: native'}}}", false, nodes},
		{"1.29.0", "gpuDevice: {config: {mode: vgpu}}", false, nodes},
	} {
		for _, chart := range []string{extensions, operator} {
			r, err := renderChart(t, chart, test.kubernetes, test.values)
			if err != nil {
				t.Fatal(err)
			}
			all := objects(t, r)
			told := false
			for name := range all {
				if kind, _, _ := strings.Cut(name, "/"); kind != "ClusterRole" && kind != "Role" {
					continue
				}
				for _, rule := range as[rbacv1.ClusterRole](t, all, name).Rules {
					writes := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return verb == "patch" || verb == "update" || verb == "*" })
					if writes && slices.Contains(rule.Resources, "pods") {
						t.Errorf("%s, %s, %s: %s may write to pods", chart, test.kubernetes, test.values, name)
					}
					told = told || writes && slices.Contains(rule.Resources, "pods/status")
				}
			}
			if told != test.told || !strings.Contains(r.Info.Notes, test.note) {
				t.Errorf("%s, %s, %s: pods/status %t, want %t; notes:\n%s", chart, test.kubernetes, test.values, told, test.told, r.Info.Notes)
			}
			if chart == extensions {
				arg := fmt.Sprintf("--tell-pods=%t", test.told)
				if c := as[appsv1.DaemonSet](t, all, "DaemonSet/metax-gpu-device").Spec.Template.Spec.Containers[0]; !slices.Contains(c.Args, arg) {
					t.Errorf("%s, %s: %v has no %s", test.kubernetes, test.values, c.Args, arg)
				}
			}
		}
	}
}

// TestSlicePodPolicy: a pod with slices names no node, and no scheduler other than those of
// the values.
func TestSlicePodPolicy(t *testing.T) {
	const (
		node = "a pod that requests metax-tech.com/sgpu may not name its node; a scheduler has to choose its slices"
		name = "a pod that requests metax-tech.com/sgpu has to name one of admissionPolicy.schedulerNames as its schedulerName (hami-scheduler, koord-scheduler)"
		hami = "system:serviceaccount:kube-system:hami-scheduler"
		one  = "{spec: {schedulerName: hami-scheduler, containers: [{name: a}, {name: b, resources: {limits: {metax-tech.com/sgpu: 1}}}]}}"
	)
	change := func(old, replacement string) string { return strings.Replace(one, old, replacement, 1) }
	for _, test := range []struct{ what, user, pod, want string }{
		{"a pod of HAMi", "user:alice", one, ""},
		{"a pod of Koordinator", "user:alice", change("hami", "koord"), ""},
		{"a node", "user:alice", change("{schedulerName", "{nodeName: a, schedulerName"), node},
		{"another scheduler", "user:alice", change("hami-scheduler", "nobody"), name},
		{"no scheduler", "user:alice", change("schedulerName: hami-scheduler, ", ""), name},
		{"a ReplicaSet", "system:serviceaccount:kube-system:replicaset-controller", change("hami-scheduler", "default-scheduler"), name},
		{"an init container", "user:alice", "{spec: {nodeName: a, containers: [{name: a}], initContainers: [{name: b, resources: {requests: {metax-tech.com/sgpu: 1}}}]}}", node},
		{"whole GPUs on a node", "user:alice", "{spec: {nodeName: a, containers: [{name: a, resources: {limits: {metax-tech.com/gpu: 1}}}]}}", ""},
		{"nothing on a node", "user:alice", "{spec: {nodeName: a, containers: [{name: a}]}}", ""},
		{"a scheduler's own", hami, change("{schedulerName", "{nodeName: a, schedulerName"), ""},
		{"a mirror of the kubelet", "system:node:a", change("{schedulerName: hami-scheduler", "{nodeName: a"), ""},
	} {
		if got := admit(t, "metax-gpu-extensions-slice-pods", request{test.user, "", "p", "", "", test.pod}); got != test.want {
			t.Errorf("%s: got %q, want %q", test.what, got, test.want)
		}
	}
	if _, ok := objects(t, mustRender(t, "1.34.4", "gpuDevice: {slicesWithoutLock: true}"))["ValidatingAdmissionPolicy/metax-gpu-extensions-slice-pods"]; ok {
		t.Error("there is a policy although the plugin needs no lock")
	}
}

// admit evaluates a policy of the chart as the API server of Kubernetes 1.30 does, the first
// that has policies, with the object that its binding names if it has params, and returns the
// first message.
func admit(t *testing.T, name string, r request, params ...string) string {
	t.Helper()
	return admitBy(t, policyNamed(t, name), r, params...)
}

// admitBy is admit with a policy at hand.
func admitBy(t *testing.T, policy admissionregistrationv1.ValidatingAdmissionPolicy, r request, params ...string) string {
	t.Helper()
	compiler, err := plugin.NewCompositedCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, 30)))
	if err != nil {
		t.Fatal(err)
	}
	options := plugin.OptionalVariableDeclarations{HasParams: policy.Spec.ParamKind != nil}
	for _, v := range policy.Spec.Variables {
		stored := compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, options, environment.NewExpressions)
		if stored.Error != nil {
			t.Fatal(stored.Error)
		}
	}
	var conditions, validations []plugin.ExpressionAccessor
	for _, c := range policy.Spec.MatchConditions {
		conditions = append(conditions, &validating.ValidationCondition{Expression: c.Expression})
	}
	for _, v := range policy.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message})
	}

	attributes := &admission.VersionedAttributes{VersionedObject: admission.NewLazyObject(object(t, r.after)), VersionedOldObject: admission.NewLazyObject(object(t, r.before))}
	user := authenticationv1.UserInfo{Username: r.agent}
	if !strings.Contains(r.agent, ":") {
		user.Username = "system:serviceaccount:metax-gpu-extensions:" + r.agent
	}
	if r.node != "" {
		user.Extra = map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {r.node}}
	}
	written := &admissionv1.AdmissionRequest{Name: r.name, SubResource: r.sub, UserInfo: user}
	evaluate := func(expressions []plugin.ExpressionAccessor) int {
		condition := compiler.CompileCondition(expressions, options, environment.NewExpressions)
		if errs := condition.CompilationErrors(); len(errs) != 0 {
			t.Fatal(errs)
		}
		results, _, err := condition.ForInput(context.Background(), attributes, written, plugin.OptionalVariableBindings{VersionedParams: object(t, strings.Join(params, ""))}, nil, apiservercel.RuntimeCELCostBudget)
		if err != nil {
			t.Fatal(err)
		}
		for i, result := range results {
			if result.Error != nil {
				t.Fatal(result.Error)
			}
			if result.EvalResult.Value() != true {
				return i
			}
		}
		return -1
	}
	if evaluate(conditions) >= 0 {
		return ""
	}
	if i := evaluate(validations); i >= 0 {
		return policy.Spec.Validations[i].Message
	}
	return ""
}

// policies are those of both charts by name, once they are rendered.
var policies = map[string]admissionregistrationv1.ValidatingAdmissionPolicy{}

func policyNamed(t *testing.T, name string) admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	if _, ok := policies[name]; !ok {
		chart, values := extensions, ""
		if strings.HasPrefix(name, operator) {
			chart, values = operator, withDriver
		}
		release, err := renderChart(t, chart, "1.34.4", values)
		if err != nil {
			t.Fatal(err)
		}
		policies[name] = as[admissionregistrationv1.ValidatingAdmissionPolicy](t, objects(t, release), "ValidatingAdmissionPolicy/"+name)
	}
	return policies[name]
}

func object(t *testing.T, text string) runtime.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}
