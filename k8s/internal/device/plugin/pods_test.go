// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

func pod(name string, age int, phase corev1.PodPhase, annotations map[string]string, counts ...int64) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team", UID: types.UID("uid-" + name), Annotations: annotations,
			CreationTimestamp: metav1.NewTime(time.Unix(1000-int64(age), 0)),
		},
		Spec:   corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{Phase: phase},
	}
	for i, n := range counts {
		c := corev1.Container{Name: fmt.Sprintf("c%d", i), Image: "image"}
		if n > 0 {
			c.Resources.Limits = corev1.ResourceList{protocol.Resource: *resource.NewQuantity(n, resource.DecimalSI)}
		}
		if i == 0 && len(counts) > 2 {
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		} else {
			p.Spec.Containers = append(p.Spec.Containers, c)
		}
	}
	return p
}

// line is "pod/container=count" for each request, with what its pod chooses.
func line(requests []allocate.Request) string {
	var words []string
	for _, r := range requests {
		word := fmt.Sprintf("%s/%s=%d", r.Pod, r.Name, r.Count)
		if r.Choice.Policy != nil {
			word += ":" + r.Choice.Policy.String()
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestRequests(t *testing.T) {
	var logged strings.Builder
	log := slog.New(slog.NewTextHandler(&logged, nil))
	pods := []*corev1.Pod{
		pod("young", 1, corev1.PodPending, map[string]string{protocol.PolicyAnnotation: "binpack"}, 4),
		pod("old", 9, corev1.PodRunning, map[string]string{protocol.PolicyAnnotation: "best"}, 8, 0, 2),
		pod("done", 5, corev1.PodSucceeded, nil, 1),
		pod("failed", 5, corev1.PodFailed, nil, 1),
		pod("plain", 5, corev1.PodRunning, map[string]string{protocol.PolicyAnnotation: "nonsense"}, 0),
	}
	said := map[string]bool{}
	for range 2 {
		var small []*corev1.Pod
		for _, p := range pods {
			s, err := strip(p)
			if err != nil {
				t.Fatal(err)
			}
			small = append(small, s.(*corev1.Pod))
		}
		if got, want := line(requests(small, []string{protocol.Resource}, log, said)), "old/c0=8 old/c2=2 young/c0=4:binpack"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if n := strings.Count(logged.String(), "does not count"); n != 1 || !strings.Contains(logged.String(), "pod=old") {
		t.Errorf("%d mistakes logged: %s", n, logged.String())
	}
	requests(nil, []string{protocol.Resource}, log, said)
	if len(said) > 0 {
		t.Errorf("still remembers %v", said)
	}
}

func TestWatchPods(t *testing.T) {
	client := fake.NewClientset(pod("a", 1, corev1.PodPending, nil, 2))
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan string, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		WatchPods(ctx, listing{client.CoreV1()}, "node", []string{protocol.Resource}, slog.New(slog.DiscardHandler), func(r []allocate.Request) { seen <- line(r) })
	}()
	await := func(want string) {
		t.Helper()
		limit := time.After(time.Minute)
		for {
			select {
			case got := <-seen:
				if got == want {
					return
				}
			case <-limit:
				t.Fatalf("never saw %q", want)
			}
		}
	}
	await("a/c0=2")
	pods := client.CoreV1().Pods("team")
	if _, err := pods.Create(ctx, pod("b", 0, corev1.PodPending, nil, 4), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("a/c0=2 b/c0=4")
	if _, err := pods.UpdateStatus(ctx, pod("a", 1, corev1.PodSucceeded, nil, 2), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("b/c0=4")
	cancel()
	<-done
}
