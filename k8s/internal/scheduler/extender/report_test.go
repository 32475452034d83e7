// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// TestReporter: a problem that lasts for a minute gets one Event, whichever extender writes it
// first and however often the API server is away.
func TestReporter(t *testing.T) {
	client, down := fake.NewClientset(), true
	client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return down, nil, errors.New("away")
	})
	log := slog.New(slog.DiscardHandler)
	one, two := Reporter{Client: client.CoreV1(), Log: log}, Reporter{Client: client.CoreV1(), Log: log}
	missing := nodescore.Problem{Kind: nodescore.Missing, Text: "it has nothing"}
	stale := nodescore.Problem{Kind: nodescore.Stale, Text: "it contradicts"}
	for _, step := range []struct {
		after    time.Duration
		problems map[string]nodescore.Problem
		down     bool
		want     []string
	}{
		{0, map[string]nodescore.Problem{"a": missing, "b": missing}, false, nil},
		{30 * time.Second, map[string]nodescore.Problem{"a": missing}, false, nil},
		{60 * time.Second, map[string]nodescore.Problem{"a": missing, "b": missing}, true, nil},
		{70 * time.Second, map[string]nodescore.Problem{"a": missing, "b": missing}, false, []string{"a MetaXGPUTopologyMissing"}},
		{80 * time.Second, map[string]nodescore.Problem{"a": stale, "b": missing}, false, []string{"a MetaXGPUTopologyMissing"}},
		{140 * time.Second, map[string]nodescore.Problem{"a": stale}, false, []string{"a MetaXGPUTopologyMissing", "a MetaXGPUTopologyStale"}},
		{150 * time.Second, map[string]nodescore.Problem{"a": stale}, false, []string{"a MetaXGPUTopologyMissing", "a MetaXGPUTopologyStale"}},
	} {
		down = step.down
		one.report(t.Context(), step.problems, start.Add(step.after))
		two.report(t.Context(), step.problems, start.Add(step.after))
		var got []string
		for _, e := range events(t, client) {
			got = append(got, e.InvolvedObject.Name+" "+e.Reason)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", step.after, diff)
		}
	}
	want := "metax-gpu-aware does not prefer this node and judges it by counts: it has nothing. See the log of metax-gpu-device on the node."
	if got := events(t, client)[0].Message; got != want {
		t.Error(got)
	}
}

// events are in the order in which they were written first.
func events(t *testing.T, client *fake.Clientset) []corev1.Event {
	t.Helper()
	list, err := client.CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		for j := range i {
			if list.Items[i].FirstTimestamp.Before(&list.Items[j].FirstTimestamp) {
				list.Items[i], list.Items[j] = list.Items[j], list.Items[i]
			}
		}
	}
	return list.Items
}
