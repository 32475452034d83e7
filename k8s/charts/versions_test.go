// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// clusters are the versions of Kubernetes that the clusters of the tests run with.
func clusters(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../test/cluster/versions")
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			versions = append(versions, strings.Fields(line)[0])
		}
	}
	if len(versions) < 2 {
		t.Fatalf("k8s/test/cluster/versions has the versions %q", versions)
	}
	return versions
}

// The versions of Kubernetes that first have the API of a kind, or a field, by default. None
// of them is gone up to the newest of clusters.
var (
	kindsSince = map[string]string{
		"v1 ConfigMap": "1.2", "v1 Namespace": "1.0", "v1 Pod": "1.0", "v1 Service": "1.0", "v1 ServiceAccount": "1.0",
		"apps/v1 DaemonSet": "1.9", "apps/v1 Deployment": "1.9", "batch/v1 Job": "1.2",
		"rbac.authorization.k8s.io/v1 ClusterRole": "1.8", "rbac.authorization.k8s.io/v1 ClusterRoleBinding": "1.8",
		"rbac.authorization.k8s.io/v1 Role": "1.8", "rbac.authorization.k8s.io/v1 RoleBinding": "1.8",
		"networking.k8s.io/v1 NetworkPolicy": "1.7", "scheduling.k8s.io/v1 PriorityClass": "1.14", "node.k8s.io/v1 RuntimeClass": "1.20",
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy": "1.30", "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": "1.30",
		"gpu.metax-tech.com/v1alpha1 ClusterOperator": "1.23",
		"monitoring.coreos.com/v1 PodMonitor":         "1.0", "monitoring.coreos.com/v1 PrometheusRule": "1.0", "monitoring.coreos.com/v1 ServiceMonitor": "1.0",
	}
	fieldsSince = map[string]string{
		"appArmorProfile": "1.30", "backoffLimitPerIndex": "1.29", "hostUsers": "1.33", "managedBy": "1.32", "matchLabelKeys": "1.27",
		"podFailurePolicy": "1.26", "podReplacementPolicy": "1.29", "recursiveReadOnly": "1.31", "resizePolicy": "1.33", "resourceClaims": "1.34",
		"schedulingGates": "1.27", "successPolicy": "1.31", "supplementalGroupsPolicy": "1.33", "trafficDistribution": "1.31",
	}
)

// TestVersions renders everything for each version: its API server has all kinds and fields,
// the policies are there as soon as it has them, and kube-scheduler reads the file for it.
func TestVersions(t *testing.T) {
	const all = `
readers: [{kind: User, name: a}]
networkPolicy: {deploy: true}
gpuDevice: {mixedNodes: true, koordletDir: /var/run/koordlet/xpu-device-infos}
dataExporter: {deploy: true, podMonitor: {deploy: true}, prometheusRule: {deploy: true}, dashboard: {deploy: true}}
`
	for _, cluster := range clusters(t) {
		t.Run(cluster, func(t *testing.T) {
			at := version.MustParse(cluster)
			has := func(since, what string) {
				if since == "" {
					t.Errorf("%s: since which version? add it to kindsSince", what)
				} else if !at.AtLeast(version.MustParse(since)) {
					t.Errorf("%s: it needs Kubernetes %s", what, since)
				}
			}
			for chart, values := range map[string]string{
				extensions: all + "deployExtenderGPUAware: true\ngpuAware: {service: {clusterIP: 10.96.0.77}}\n",
				operator:   all + withDriver + "\nmaca: {payload: {images: ['maca-c500:1']}}\nruntime: {config: {cdiMode: false}}\nvfioManager: {deploy: true}\n",
			} {
				r, err := renderChart(t, chart, cluster, values)
				if err != nil {
					t.Fatal(err)
				}
				policies := 0
				found := objects(t, r)
				for name, object := range found {
					has(kindsSince[object.GetAPIVersion()+" "+object.GetKind()], object.GetAPIVersion()+" "+name)
					for field := range fieldsOf(object.Object) {
						if since, isNew := fieldsSince[field]; isNew {
							has(since, name+": "+field)
						}
					}
					if object.GetKind() == "ValidatingAdmissionPolicy" {
						policies++
					}
				}
				if want := at.AtLeast(version.MustParse("1.30")); (policies > 0) != want {
					t.Errorf("%s has %d policies", chart, policies)
				}
				if chart == extensions {
					for file, text := range as[corev1.ConfigMap](t, found, "ConfigMap/metax-gpu-aware-scheduler").Data {
						if !slices.Contains(strings.Split(text, "\n"), "apiVersion: kubescheduler.config.k8s.io/v1") && strings.Contains(text, "KubeSchedulerConfiguration") {
							t.Errorf("%s is not of the version that it reads:\n%.200s", file, text)
						}
					}
				}
			}
		})
	}
}

// fieldsOf yields the names of all fields of an object but those of maps with names of users.
func fieldsOf(value any) func(func(string) bool) {
	return func(yield func(string) bool) {
		var walk func(any) bool
		walk = func(value any) bool {
			switch v := value.(type) {
			case map[string]any:
				for name, inner := range v {
					if !yield(name) || !slices.Contains([]string{"data", "labels", "annotations"}, name) && !walk(inner) {
						return false
					}
				}
			case []any:
				for _, inner := range v {
					if !walk(inner) {
						return false
					}
				}
			}
			return true
		}
		walk(value)
	}
}

// TestFieldsSince: the test above would see a field.
func TestFieldsSince(t *testing.T) {
	seen := []string{}
	for field := range fieldsOf(map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"resizePolicy": "x"}}, "labels": map[string]any{"stopSignal": "x"}}}) {
		seen = append(seen, field)
	}
	if slices.Sort(seen); fmt.Sprint(seen) != "[containers labels resizePolicy spec]" {
		t.Errorf("%q", seen)
	}
}
