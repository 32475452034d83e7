package charts

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
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

	rules, err := os.ReadFile(extensions + "/files/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
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

	dashboard, err := os.ReadFile(extensions + "/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
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

// TestExporterIsAnOption has each switch alone: what needs no exporter is there, and the rest is refused.
func TestExporterIsAnOption(t *testing.T) {
	for values, want := range map[string]string{
		"": "", "podMonitor: {deploy: true}": "PodMonitor/metax-gpu-extensions", "prometheusRule: {deploy: true}": "PrometheusRule/metax-rules",
		"deploy: true": "DaemonSet/metax-exporter Service/metax-exporter",
	} {
		all := objects(t, mustRender(t, "1.34.4", "dataExporter: {"+values+"}"))
		var got []string
		for _, name := range []string{"DaemonSet/metax-exporter", "Service/metax-exporter", "PodMonitor/metax-gpu-extensions", "PrometheusRule/metax-rules", "ConfigMap/metax-dashboards"} {
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
	if _, err := render(t, "1.34.4", "dataExporter: {dashboard: {deploy: true}}"); err == nil || !strings.Contains(err.Error(), "dataExporter.dashboard.deploy: the dashboard shows metrics of the exporter") {
		t.Error(err)
	}
}
