// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// scheduled is a pod that a scheduler has placed a moment ago.
func scheduled(name, scheduler string) *corev1.Pod {
	p := pod(name, "n", 1, false)
	p.Spec.SchedulerName = scheduler
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	return p
}

// TestQuestions: an extender hears of pods and of questions, and another one has written that
// it was asked. Half a minute later there are Events about these pods, and the ConfigMap says
// this.
func TestQuestions(t *testing.T) {
	const s = "default-scheduler"
	at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339) }
	one := scheduled("a", s)
	foreign, self, small := scheduled("a", "other"), scheduled("a", s), scheduled("a", s)
	self.Status.Conditions = nil
	small.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	for _, test := range []struct {
		what   string
		asked  *corev1.Pod // before pod
		shared map[string]string
		pod    *corev1.Pod
		list   bool // pod is there when the extender starts
		later  time.Duration
		events string
		data   map[string]string // written
	}{
		{"an idle cluster", nil, nil, nil, false, settle, "", nil},
		{"a question", one, nil, one, false, settle, "", map[string]string{"asked.default-scheduler": at(0)}},
		{"no question", nil, nil, one, false, settle, "default/a uid-a MetaXGPUNotAsked", map[string]string{"unasked.default-scheduler": at(0) + " default/a"}},
		{"not yet", nil, nil, one, false, settle - 1, "", nil},
		{"another extender", nil, map[string]string{"asked.default-scheduler": at(-asksFor)}, one, false, settle, "", nil},
		{"another extender, long ago", nil, map[string]string{"asked.default-scheduler": at(-asksFor - time.Second)}, one, false, settle, "default/a uid-a MetaXGPUNotAsked", map[string]string{"unasked.default-scheduler": at(0) + " default/a"}},
		{"known already", nil, map[string]string{"unasked.default-scheduler": at(-time.Minute) + " default/b"}, one, false, settle, "default/a uid-a MetaXGPUNotAsked", nil},
		{"it asks again", one, map[string]string{"unasked.default-scheduler": at(-time.Minute) + " default/b", "asked.default-scheduler": at(-2 * time.Minute)}, one, false, settle, "", map[string]string{"asked.default-scheduler": at(0)}},
		{"it asks all the time", one, map[string]string{"asked.default-scheduler": at(-between + time.Second)}, one, false, settle, "", nil},
		{"a scheduler that is not to ask", foreign, nil, foreign, false, settle, "", nil},
		{"another scheduler without a question", nil, nil, foreign, false, settle, "", nil},
		{"a pod that names its node", nil, nil, self, false, settle, "", nil},
		{"a pod without GPUs", nil, nil, small, false, settle, "", nil},
		{"a pod that was there", nil, nil, one, true, settle, "", nil},
	} {
		t.Run(test.what, func(t *testing.T) {
			client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: protocol.AskedConfigMap}})
			c, now := newCluster(), start
			q := NewQuestions([]string{s})
			q.now = func() time.Time { return now }
			c.Placed = q.Place
			r := Reporter{Client: client.CoreV1(), Namespace: "ns", Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry(), c)}
			q.Share(test.shared)
			if test.asked != nil {
				q.Ask(test.asked)
			}
			store := podStore(c)
			if err := store.Replace(nil, ""); err != nil {
				t.Fatal(err)
			}
			switch {
			case test.list:
				if err := store.Replace([]any{test.pod}, ""); err != nil {
					t.Fatal(err)
				}
			case test.pod != nil:
				for range 2 { // the kubelet changes it
					if err := store.Update(test.pod); err != nil {
						t.Fatal(err)
					}
				}
			}
			now = start.Add(test.later)
			for range 2 {
				r.questions(t.Context(), q, now, false)
				m, err := client.CoreV1().ConfigMaps("ns").Get(t.Context(), protocol.AskedConfigMap, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(test.data, m.Data); d != "" {
					t.Error(d)
				}
			}
			got := ""
			for _, e := range events(t, client) {
				got += fmt.Sprintf("%s/%s %s %s", e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.InvolvedObject.UID, e.Reason)
				if want := "default-scheduler placed this pod without asking metax-gpu-aware, so the links between GPUs did not count (docs/kubernetes-schedulers.md)"; e.Message != want {
					t.Error(e.Message)
				}
			}
			if got != test.events {
				t.Errorf("got %q, want %q", got, test.events)
			}
		})
	}
}

// TestQuestionsAreBounded: a burst is remembered in part, and few Events are written about one
// that nobody asked about.
func TestQuestionsAreBounded(t *testing.T) {
	client := fake.NewClientset()
	q := NewQuestions([]string{"s"})
	q.now = func() time.Time { return start }
	for i := range mostAsked + 10 {
		q.Ask(scheduled(fmt.Sprint("asked-", i), "x"))
	}
	if len(q.asked) != mostAsked || q.asked["uid-asked-9"] || !q.asked["uid-asked-10"] {
		t.Errorf("%d pods are remembered", len(q.asked))
	}
	for i := range mostUnasked + 1 {
		q.Place(scheduled(fmt.Sprint("p-", i), "s"))
	}
	q.now = func() time.Time { return start.Add(settle) }
	r := Reporter{Client: client.CoreV1(), Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry(), newCluster())}
	r.questions(t.Context(), q, start, false)
	if got := events(t, client); len(got) != mostEvents || len(q.unasked) != 0 {
		t.Errorf("%d Events, %d pods are left", len(got), len(q.unasked))
	}
}

// TestLastQuestion: what was asked just before an extender ends is known to the next one.
func TestLastQuestion(t *testing.T) {
	q := NewQuestions([]string{"s"})
	q.now = func() time.Time { return start }
	q.Share(map[string]string{"asked.s": start.Add(-time.Second).Format(time.RFC3339)})
	q.Ask(scheduled("a", "s"))
	if _, write := q.collectDue(false); len(write) != 0 {
		t.Errorf("written: %v", write)
	}
	if _, write := q.collectDue(true); write["asked.s"] != start.Format(time.RFC3339) {
		t.Errorf("written: %v", write)
	}
}

// TestQuestionOfScheduler: a question as kube-scheduler sends it counts, even if it gets no
// answer.
func TestQuestionOfScheduler(t *testing.T) {
	p := scheduled("a", "s")
	p.Spec.NodeName = ""
	text, err := json.Marshal(map[string]any{"Pod": p, "NodeNames": []string{"n"}})
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster()
	q := NewQuestions([]string{"s"})
	e := &Extender{Cluster: c, Questions: q, Ready: func() error { return errBusy }, MaxBody: 1 << 16, Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry(), c)}
	answer := httptest.NewRecorder()
	e.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader(string(text))))
	if answer.Code != http.StatusServiceUnavailable || !q.asked["uid-a"] || q.last["s"].IsZero() {
		t.Errorf("%d, %v, %v", answer.Code, q.asked, q.last)
	}
}
