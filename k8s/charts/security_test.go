// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// TestMemory wants a limit of memory for every container of both charts, and Go to keep below
// it.
func TestMemory(t *testing.T) {
	const all = "dataExporter: {deploy: true}\ndeployExtenderGPUAware: true\ngpuLabel: {validate: true}"
	for _, test := range []struct {
		chart, values string
		pods          int
	}{{extensions, all, 7}, {operator, withDriver, 7}} {
		r, err := renderChart(t, test.chart, "1.34.4", test.values)
		if err != nil {
			t.Fatal(err)
		}
		pods := 0
		for name, object := range objects(t, r) {
			at := map[string][]string{"Pod": {"spec"}, "DaemonSet": {"spec", "template", "spec"}, "Deployment": {"spec", "template", "spec"}, "Job": {"spec", "template", "spec"}}[object.GetKind()]
			if at == nil {
				continue
			}
			spec, _, err := unstructured.NestedMap(object.Object, at...)
			var pod corev1.PodSpec
			if err == nil {
				err = runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &pod)
			}
			if err != nil {
				t.Fatal(err)
			}
			pods++
			for _, c := range append(pod.InitContainers, pod.Containers...) {
				limit := c.Resources.Limits[corev1.ResourceMemory]
				want := corev1.EnvVar{Name: "GOMEMLIMIT", Value: fmt.Sprintf("%dMiB", limit.Value()>>20*9/10)}
				if limit.IsZero() || !slices.Contains(c.Env, want) {
					t.Errorf("%s: %s: %s/%s: memory %s, %v", test.chart, test.values, name, c.Name, &limit, c.Env)
				}
			}
		}
		if pods != test.pods {
			t.Errorf("%s has %d pods, want %d", test.chart, pods, test.pods)
		}
	}
	for limits, want := range map[string]string{"{memory: 3Gi}": "2764MiB", "{memory: 1Mi}": "0MiB", "{memory: 1G}": "", "{memory: 1.5Gi}": "", "null": ""} {
		c := daemonset(t, "gpuLabel: {resources: {limits: "+limits+"}}", "metax-gpu-label").Spec.Template.Spec.Containers[0]
		i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
		if e := c.Env[i]; e.Value != want || (want == "") != (e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef.Resource == "limits.memory") {
			t.Errorf("%s: %+v", limits, e)
		}
	}
}

// TestNetworkPolicy: only named ports of each pod can be reached, and only by those whom a
// value allows.
func TestNetworkPolicy(t *testing.T) {
	const from = "[{podSelector: {matchLabels: {app: prometheus}}}]"
	for _, chart := range []string{extensions, operator} {
		r, err := renderChart(t, chart, "1.34.4", "{deployExtenderGPUAware: true, networkPolicy: {from: "+from+"}}")
		if err != nil {
			t.Fatal(err)
		}
		all := objects(t, r)
		for _, name := range []string{"metax-gpu-extensions", "metax-gpu-aware"} {
			policy := as[networkingv1.NetworkPolicy](t, all, "NetworkPolicy/"+name)
			last := policy.Spec.Ingress[len(policy.Spec.Ingress)-1]
			if last.Ports[0].Port.StrVal != "metrics" || len(last.From) != 1 || last.From[0].PodSelector.MatchLabels["app"] != "prometheus" {
				t.Errorf("%s, %s: %+v", chart, name, policy.Spec.Ingress)
			}
		}
		for name, object := range all {
			labels, _, _ := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "labels")
			selector := as[networkingv1.NetworkPolicy](t, all, "NetworkPolicy/metax-gpu-extensions").Spec.PodSelector.MatchLabels
			for key, value := range selector {
				if labels != nil && labels[key] != value {
					t.Errorf("%s: the policy does not select %s", chart, name)
				}
			}
		}
	}
	if _, ok := objects(t, mustRender(t, "1.34.4", "networkPolicy: {deploy: false}"))["NetworkPolicy/metax-gpu-extensions"]; ok {
		t.Error("the policy cannot be switched off")
	}
}

// TestPrivileges states for each container whether it is privileged, whether it has the token
// of the service account, and which directories of the host it may write.
func TestPrivileges(t *testing.T) {
	type powers struct {
		Privileged, Token bool
		Writes            []string
	}
	want := map[string]powers{
		"metax-gpu-device/cdi":        {Privileged: true, Writes: []string{"/run/metax-container-toolkit", "/var/lib/metax-container-toolkit", "/var/log/metax", "/var/run/cdi"}},
		"metax-gpu-device/gpu-device": {Token: true, Writes: []string{"/run/metax-container-toolkit/k8s", "/run/metax/device-plugin", "/var/lib/kubelet/device-plugins", "/var/log/metax"}},
		"metax-gpu-device/health":     {Privileged: true, Writes: []string{"/run/metax-container-toolkit", "/var/lib/metax-container-toolkit", "/var/log/metax", "/var/run/cdi"}},
		"metax-gpu-label/gpu-label":   {Token: true, Writes: []string{"/run/metax-container-toolkit/validation", "/var/log/metax"}},
		"metax-gpu-aware/gpu-aware":   {Token: true},
		"metax-exporter/exporter":     {Writes: []string{"/var/log/metax"}},
		"metax-exporter/health":       {Privileged: true, Writes: []string{"/var/log/metax"}},
		"metax-gpu-cleanup/files":     {Writes: []string{"/run/metax-container-toolkit", "/run/metax/device-plugin", "/var/lib/metax-container-toolkit", "/var/log/metax", "/var/run/cdi"}},
		"metax-gpu-cleanup/stay":      {},
		"metax-gpu-cleanup/nodes":     {Token: true},
	}
	got := map[string]powers{}
	const values = "{dataExporter: {deploy: true}, deployExtenderGPUAware: true, gpuLabel: {validate: true}}"
	pods := []corev1.PodTemplateSpec{as[batchv1.Job](t, objects(t, mustRender(t, "1.34.4", values)), "Job/metax-gpu-cleanup").Spec.Template}
	for _, name := range []string{"metax-gpu-device", "metax-gpu-label", "metax-exporter", "metax-gpu-aware", "metax-gpu-cleanup"} {
		pods = append(pods, daemonset(t, values, name).Spec.Template)
	}
	for _, template := range pods {
		name, pod := template.Labels["app.kubernetes.io/name"], template.Spec
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: every container gets the token", name)
		}
		if pod.HostNetwork || pod.HostPID || pod.HostIPC {
			t.Errorf("%s shares namespaces with the host", name)
		}
		if pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: seccomp %v", name, pod.SecurityContext.SeccompProfile)
		}
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			s := c.SecurityContext
			privileged := s.Privileged != nil && *s.Privileged
			if !privileged && (s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) != 0) {
				t.Errorf("%s/%s: %+v", name, c.Name, s)
			}
			if s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Errorf("%s/%s can write to its root", name, c.Name)
			}
			p := powers{Privileged: privileged}
			for _, m := range c.VolumeMounts {
				v := pod.Volumes[slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })]
				if v.HostPath != nil && !m.ReadOnly {
					p.Writes = append(p.Writes, v.HostPath.Path)
				}
				p.Token = p.Token || m.MountPath == tokenDir
			}
			slices.Sort(p.Writes)
			p.Writes = slices.Compact(p.Writes)
			got[name+"/"+c.Name] = p
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
