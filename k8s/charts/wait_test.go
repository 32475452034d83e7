// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
)

// TestHelmWaits: "helm install --wait" waits for every pod of every DaemonSet, by helm's own
// rule.
func TestHelmWaits(t *testing.T) {
	all := objects(t, mustRender(t, "1.34.4", "{deployExtenderGPUAware: true, dataExporter: {deploy: true}}"))
	sets := 0
	for name := range all {
		if !strings.HasPrefix(name, "DaemonSet/") || name == "DaemonSet/metax-gpu-cleanup" {
			continue
		}
		sets++
		set := as[appsv1.DaemonSet](t, all, name)
		for ready, want := range map[int32]bool{0: false, 1: false, 2: true} {
			set.Namespace = "ns"
			set.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberReady: ready}
			strategy := &set.Spec.UpdateStrategy
			if strategy.RollingUpdate == nil { // as the API server does
				one := intstr.FromInt32(1)
				strategy.Type, strategy.RollingUpdate = appsv1.RollingUpdateDaemonSetStrategyType, &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &one}
			}
			checker := kube.NewReadyChecker(fake.NewClientset(&set), func(string, ...any) {})
			got, err := checker.IsReady(t.Context(), &resource.Info{Name: set.Name, Namespace: "ns", Object: &set})
			if err != nil || got != want {
				t.Errorf("%s with %d of 2 pods: helm is done waiting: %t, %v", name, ready, got, err)
			}
		}
	}
	if sets != 4 {
		t.Errorf("%d DaemonSets", sets)
	}
}

// TestJobs: a first installation runs no job, and no job has more time than hookDeadline; one
// that failed stays.
func TestJobs(t *testing.T) {
	jobs := 0
	for name, values := range map[string]string{extensions: "hookDeadline: 30", operator: "hookDeadline: 30"} {
		r, err := renderChart(t, name, "1.34.4", values)
		if err != nil {
			t.Fatal(err)
		}
		for _, hook := range r.Hooks {
			for _, event := range hook.Events {
				if event == "pre-install" || event == "post-install" {
					t.Errorf("%s: %s %s runs at the first installation", name, hook.Kind, hook.Name)
				}
			}
			if hook.Kind != "Job" {
				continue
			}
			jobs++
			var job batchv1.Job
			if err := yaml.Unmarshal([]byte(hook.Manifest), &job); err != nil {
				t.Fatal(err)
			}
			if seconds := job.Spec.ActiveDeadlineSeconds; seconds == nil || *seconds != 30 {
				t.Errorf("%s: job %s has another deadline", name, hook.Name)
			}
			for _, policy := range hook.DeletePolicies {
				if policy == "hook-failed" {
					t.Errorf("%s: job %s goes when it fails", name, hook.Name)
				}
			}
		}
	}
	if jobs != 5 {
		t.Errorf("%d jobs", jobs)
	}
}
