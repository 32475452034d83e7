// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const monitored = `dataExporter:
  deploy: true
  podMonitor: {deploy: true, labels: {release: prometheus}}
  prometheusRule: {deploy: true, labels: {release: prometheus}}
  dashboard: {deploy: true}
`

// TestMonitoring demands that alerts and dashboard come to the cluster as they are in files.
func TestMonitoring(t *testing.T) {
	all := objects(t, mustRender(t, "1.34.4", monitored))

	rules := testfile.Read(t, extensions+"/files/rules.yaml")
	var want map[string]any
	if err := yaml.Unmarshal(rules, &want); err != nil {
		t.Fatal(err)
	}
	rule := all["PrometheusRule/metax-rules"]
	if rule == nil {
		t.Fatal("the chart has no PrometheusRule/metax-rules")
	}
	if d := cmp.Diff(want, rule.Object["spec"]); d != "" {
		t.Error(d)
	}

	dashboard := testfile.Read(t, extensions+"/files/dashboard.json")
	shown := as[corev1.ConfigMap](t, all, "ConfigMap/metax-dashboards")
	if d := cmp.Diff(map[string]string{"dashboard.json": string(dashboard)}, shown.Data); d != "" {
		t.Error(d)
	}
	if shown.Labels["grafana_dashboard"] != "1" {
		t.Error(shown.Labels)
	}

	monitor := all["PodMonitor/metax-gpu-extensions"]
	if monitor == nil {
		t.Fatal("the chart has no PodMonitor")
	}
	if got := monitor.GetLabels()["release"]; got != "prometheus" {
		t.Errorf("label release: %q", got)
	}
	// As the test in internal/exporter/metrics/scrape scrapes.
	endpoints := at(t, monitor.Object, "spec", "podMetricsEndpoints").([]any)
	if d := cmp.Diff([]any{map[string]any{
		"port": "metrics", "interval": "15s", "honorLabels": true,
		"relabelings": []any{
			map[string]any{"sourceLabels": []any{"__meta_kubernetes_pod_node_name"}, "targetLabel": "node"},
			map[string]any{"sourceLabels": []any{"__meta_kubernetes_pod_label_app_kubernetes_io_name"}, "regex": "metax-exporter", "targetLabel": "job", "replacement": "metax-mx-exporter"},
		},
	}}, endpoints); d != "" {
		t.Error(d)
	}
	selected := at(t, monitor.Object, "spec", "selector", "matchLabels").(map[string]any)
	for _, name := range []string{"metax-gpu-device", "metax-exporter"} {
		pod := daemonset(t, monitored, name).Spec.Template
		for key, value := range selected {
			if pod.Labels[key] != value {
				t.Errorf("%s is not selected: %s is %q, not %q", name, key, pod.Labels[key], value)
			}
		}
	}
}

// TestExporterIsAnOption has each switch alone: what needs no exporter is there, and the rest
// is refused.
func TestExporterIsAnOption(t *testing.T) {
	for values, want := range map[string]string{
		"": "", "podMonitor: {deploy: true}": "PodMonitor/metax-gpu-extensions", "prometheusRule: {deploy: true}": "PrometheusRule/metax-rules",
		"deploy: true": "DaemonSet/metax-exporter Service/metax-exporter",
		"deploy: true, serviceMonitor: {deploy: true}": "DaemonSet/metax-exporter Service/metax-exporter ServiceMonitor/metax-exporter",
	} {
		all := objects(t, mustRender(t, "1.34.4", "dataExporter: {"+values+"}"))
		var got []string
		for _, name := range []string{"DaemonSet/metax-exporter", "Service/metax-exporter", "ServiceMonitor/metax-exporter", "PodMonitor/metax-gpu-extensions", "PrometheusRule/metax-rules", "ConfigMap/metax-dashboards"} {
			if all[name] != nil {
				got = append(got, name)
			}
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", values, d)
		}
		if rule := all["PrometheusRule/metax-rules"]; rule != nil {
			if rules := at(t, rule.Object, "spec", "groups", 0, "rules").([]any); len(rules) != 1 || at(t, rules[0], "alert") != "MetaXGPUPluginNotRegistered" {
				t.Errorf("without the exporter there are the alerts %v", rules)
			}
		}
	}
	for values, want := range map[string]string{
		"dashboard: {deploy: true}":      "dataExporter.dashboard.deploy: the dashboard shows metrics of the exporter",
		"serviceMonitor: {deploy: true}": "dataExporter.serviceMonitor.deploy: it scrapes the exporter",
		"deploy: true, podMonitor: {deploy: true}, serviceMonitor: {deploy: true}": "each GPU would be counted twice",
	} {
		if _, err := render(t, "1.34.4", "dataExporter: {"+values+"}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// TestServiceMonitor: it finds the Service of the exporter, and gives its series the labels
// that the PodMonitor gives.
func TestServiceMonitor(t *testing.T) {
	all := objects(t, mustRender(t, "1.34.4", "dataExporter: {deploy: true, serviceMonitor: {deploy: true, labels: {release: prometheus}}}"))
	monitor, service := all["ServiceMonitor/metax-exporter"], as[corev1.Service](t, all, "Service/metax-exporter")
	if got := monitor.GetLabels()["release"]; got != "prometheus" {
		t.Errorf("label release: %q", got)
	}
	for key, value := range at(t, monitor.Object, "spec", "selector", "matchLabels").(map[string]any) {
		if service.Labels[key] != value {
			t.Errorf("the Service is not selected: %s is %q, not %q", key, service.Labels[key], value)
		}
	}
	want := []any{map[string]any{
		"port": service.Spec.Ports[0].Name, "interval": "15s", "honorLabels": true,
		"relabelings": []any{
			map[string]any{"sourceLabels": []any{"__meta_kubernetes_pod_node_name"}, "targetLabel": "node"},
			map[string]any{"targetLabel": "job", "replacement": "metax-mx-exporter"},
		},
	}}
	if d := cmp.Diff(want, at(t, monitor.Object, "spec", "endpoints")); d != "" {
		t.Error(d)
	}
}

// TestOperatorMonitoring: the operator's metrics are a port of its pod that the PodMonitor
// finds, and its alerts are in its chart alone.
func TestOperatorMonitoring(t *testing.T) {
	const on = "dataExporter: {podMonitor: {deploy: true}, prometheusRule: {deploy: true}}\n"
	all := objects(t, renderOperator(t, on))
	pod := as[appsv1.Deployment](t, all, "Deployment/metax-operator").Spec.Template
	if args := pod.Spec.Containers[0].Args; !slices.Contains(args, "--metrics-address=:8000") {
		t.Errorf("arguments %q", args)
	}
	if !slices.Contains(pod.Spec.Containers[0].Ports, corev1.ContainerPort{Name: "metrics", ContainerPort: 8000}) {
		t.Errorf("ports %v", pod.Spec.Containers[0].Ports)
	}
	for key, value := range at(t, all["PodMonitor/metax-gpu-extensions"].Object, "spec", "selector", "matchLabels").(map[string]any) {
		if pod.Labels[key] != value {
			t.Errorf("the controller is not selected: %s is %q, not %q", key, pod.Labels[key], value)
		}
	}
	var want map[string]any
	if err := yaml.Unmarshal([]byte(readText(t, extensions+"/files/operator-rules.yaml")), &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, all["PrometheusRule/metax-operator-rules"].Object["spec"]); d != "" {
		t.Error(d)
	}
	if objects(t, mustRender(t, "1.34.4", on))["PrometheusRule/metax-operator-rules"] != nil {
		t.Error("without the operator there are its alerts")
	}
	pod = as[appsv1.Deployment](t, objects(t, renderOperator(t, "controller: {metricsPort: 0}")), "Deployment/metax-operator").Spec.Template
	if c := pod.Spec.Containers[0]; len(c.Ports) != 1 || !slices.Contains(c.Args, "--metrics-address=0") {
		t.Errorf("metricsPort 0: %q, %v", c.Args, c.Ports)
	}
}

// TestRunbooks: each alert links to a page of docs, and to a heading that it has.
func TestRunbooks(t *testing.T) {
	for _, file := range []string{"rules.yaml", "operator-rules.yaml"} {
		text := readText(t, extensions+"/files/"+file)
		links := regexp.MustCompile(`(?m)^          runbook_url: https://github\.com/metax-ctk/container-toolkit/blob/main/docs/([a-z-]+\.md)#([a-z-]+)$`).FindAllStringSubmatch(text, -1)
		if alerts := strings.Count(text, "- alert: "); len(links) != alerts || alerts == 0 {
			t.Errorf("%s: %d links for %d alerts", file, len(links), alerts)
		}
		for _, link := range links {
			found := false
			for line := range strings.Lines(readText(t, "../../docs/"+link[1])) {
				title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
				found = found || ok && line[0] == '#' && strings.ReplaceAll(strings.ToLower(strings.TrimSpace(title)), " ", "-") == link[2]
			}
			if !found {
				t.Errorf("%s: docs/%s has no heading %s", file, link[1], link[2])
			}
		}
	}
}
