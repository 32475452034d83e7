// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// TestAddClocks asks metax-exporter through the API server, and says why there is no answer.
func TestAddClocks(t *testing.T) {
	exporter := func(namespace, name string, change ...func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{partOf: protocol.Chart, nameLabel: protocol.Exporter}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "exporter", Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 8123}}}}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		}
		for _, c := range change {
			c(&p)
		}
		return p
	}
	pending := func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }
	device := func(p *corev1.Pod) { p.Labels[nameLabel] = protocol.Device }
	const clock = "# TYPE metax_gpu_clock_hertz gauge\nmetax_gpu_clock_hertz{gpu=\"1\",uuid=\"GPU-1\",unit=\"compute\"} 1.5e+09\n"
	for _, test := range []struct {
		name   string
		pods   []corev1.Pod
		status int
		body   string
		asked  string // the path of the question
		want   string // in Missing; "" if there are clocks
	}{
		{
			"answered",
			[]corev1.Pod{exporter("gpus", "d", device), exporter("gpus", "a"), exporter("other", "b", pending)},
			200, clock,
			"/api/v1/namespaces/gpus/pods/http:a:8123/proxy/metrics", "",
		},
		{
			"refused",
			[]corev1.Pod{exporter("gpus", "a")},
			403, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`,
			"/api/v1/namespaces/gpus/pods/http:a:8123/proxy/metrics", "you may not get pods/proxy in namespace gpus (value readers of the chart)",
		},
		{"off", []corev1.Pod{exporter("gpus", "d", device), exporter("gpus", "a", pending)}, 200, clock, "", "value dataExporter.deploy of the chart"},
		{"ambiguous", []corev1.Pod{exporter("gpus", "a"), exporter("mallory", "b")}, 200, clock, "", "namespaces gpus and mallory"},
		{"without a port", []corev1.Pod{exporter("gpus", "a", func(p *corev1.Pod) { p.Spec.Containers = nil })}, 200, clock, "", "pod gpus/a has no port"},
		{"down", []corev1.Pod{exporter("gpus", "a")}, 503, "no endpoint", "/api/v1/namespaces/gpus/pods/http:a:8123/proxy/metrics", "ask pod gpus/a: "},
		{"without readings", []corev1.Pod{exporter("gpus", "a")}, 200, "", "/api/v1/namespaces/gpus/pods/http:a:8123/proxy/metrics", "has no readings"},
		{"something else", []corev1.Pod{exporter("gpus", "a")}, 200, "<html>", "/api/v1/namespaces/gpus/pods/http:a:8123/proxy/metrics", "not the metrics of metax-exporter"},
		{"endless", []corev1.Pod{exporter("gpus", "a")}, 200, strings.Repeat("#\n", protocol.MaxMetrics/2+1), "/api/v1/namespaces/gpus/pods/http:a:8123/proxy/metrics", "more than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.Path
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			o := Objects{Pods: test.pods, Missing: []string{"before"}}
			Reader{Client: client.CoreV1()}.AddClocks(t.Context(), &o)
			if asked != test.asked {
				t.Errorf("it asks %q, want %q", asked, test.asked)
			}
			if test.want == "" {
				want := map[int]protocol.Clock{1: {UUID: "GPU-1", Measures: gpu.Measures{gpu.ClockMHz: 1500}}}
				if diff := cmp.Diff(want, o.Clocks); diff != "" || len(o.Missing) != 1 {
					t.Errorf("%q\n%s", o.Missing, diff)
				}
				return
			}
			if len(o.Missing) != 2 || !strings.HasPrefix(o.Missing[1], "clocks are not shown: ") || !strings.Contains(o.Missing[1], test.want) || len(o.Clocks) > 0 {
				t.Errorf("%q, %v", o.Missing, o.Clocks)
			}
		})
	}
}
