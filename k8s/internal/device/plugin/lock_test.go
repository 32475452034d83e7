// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// TestSweep has what a plugin that was killed, or a pod that was deleted, left.
func TestSweep(t *testing.T) {
	served := allocations.Entry{IDs: []string{"x"}, For: &allocations.Container{UID: "uid-pod", Namespace: "team", Pod: "pod", Name: "c0"}}
	for _, test := range []struct {
		what, lock string
		pod        *corev1.Pod
		entries    []allocations.Entry
		want       string
	}{
		{"the pod waits", lockOf + "pod", sliced("pod", 1), nil, "locked allocating"},
		{"killed before the lock was released", lockOf + "pod", sliced("pod", 1), []allocations.Entry{served}, "free success"},
		{"killed before the answer, so that the pod failed", lockOf + "pod", sliced("pod", 1, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), nil, "free failed"},
		{"the pod was deleted", lockOf + "gone", sliced("pod", 1), nil, "free allocating"},
		{"a lock that names no pod", "2026-11-22T16:52:48Z", sliced("pod", 1), nil, "locked allocating"},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := newSlicing(t, test.lock, test.pod)
			s.State.change(func(v *nodeView) { v.record.Entries = test.entries })
			s.Slices.Sweep(t.Context(), true)
			if got := s.state("pod"); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestAway: the API server does not answer for a while. The pod waits and is served, and the
// lock stays until the phase of the pod can be written.
func TestAway(t *testing.T) {
	s := newSlicing(t, lockOf+"pod", sliced("pod", 1))
	s.Slices.Away = time.Minute
	left := map[string]int{"get nodes": 2, "get pods": 2, "patch pods": 1}
	s.client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		what := action.GetVerb() + " " + action.GetResource().Resource
		left[what]--
		return left[what] >= 0, nil, errors.New("connection refused")
	})
	if _, err := s.give(1); err != nil {
		t.Fatal(err)
	}
	if got := s.state("pod"); got != "locked allocating" {
		t.Errorf("after the answer: %s", got)
	}
	if s.Slices.Sweep(t.Context(), true); s.state("pod") != "free success" {
		t.Errorf("when the API server is back: %s", s.state("pod"))
	}
	s.Slices.Away = 0
	left["get nodes"] = 1
	if _, err := s.give(1); err == nil || !strings.Contains(err.Error(), "read the lock of the Node: connection refused") {
		t.Errorf("without patience: %v", err)
	}
}

// TestPhaseRefused: the pod of the lock was created again meanwhile. Its lock is released.
func TestPhaseRefused(t *testing.T) {
	s := newSlicing(t, lockOf+"pod", sliced("pod", 1))
	s.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, conflict })
	if _, err := s.give(1); err != nil || s.state("pod") != "free allocating" {
		t.Errorf("%v, %s", err, s.state("pod"))
	}
}

// TestRelease: the Node changes meanwhile, and another pod takes the lock.
func TestRelease(t *testing.T) {
	s := newSlicing(t, lockOf+"pod", sliced("pod", 1))
	conflicts := 0
	s.client.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if !strings.Contains(string(action.(clienttesting.PatchAction).GetPatch()), `"hami.io/mutex.lock":null`) {
			t.Errorf("patch %s", action.(clienttesting.PatchAction).GetPatch())
		}
		conflicts++
		return conflicts < 3, nil, conflict
	})
	if err := s.Slices.Locker.Release(t.Context(), foreign.Lock{Namespace: "team", Pod: "other"}); err != nil || s.state("pod") != "locked allocating" {
		t.Errorf("the lock of another pod: %v, %s", err, s.state("pod"))
	}
	if err := s.Slices.Locker.Release(t.Context(), foreign.Lock{Namespace: "team", Pod: "pod"}); err != nil || s.state("pod") != "free allocating" || conflicts != 3 {
		t.Errorf("%v, %s after %d tries", err, s.state("pod"), conflicts)
	}
}

// TestTwoPods: two pods are bound to the node, and the lock names one. The kubelet does not
// say for which of them it asks, and neither gets what a scheduler chose for the other.
func TestTwoPods(t *testing.T) {
	const both = "pod team/other also waits for slices on this node, which is locked for team/pod"
	refused := func(t *testing.T, other *corev1.Pod) *slicing {
		t.Helper()
		s := newSlicing(t, lockOf+"pod", sliced("pod", 1), other)
		if _, err := s.give(1); err == nil || !strings.Contains(err.Error(), both) {
			t.Errorf("got %v, want %s", err, both)
		}
		if got := s.state("pod"); got != "locked allocating" || s.slices() > 0 {
			t.Errorf("%s, %d slices", got, s.slices())
		}
		return s
	}
	served := func(t *testing.T, s *slicing) {
		t.Helper()
		if _, err := s.give(1); err != nil {
			t.Error(err)
		}
		if got := s.state("pod"); got != "free success" || s.slices() != 1 {
			t.Errorf("%s, %d slices", got, s.slices())
		}
	}
	t.Run("the kubelet asked for slices of the second pod", func(t *testing.T) {
		s := refused(t, sliced("other", 1))
		s.report("other", fails)
		served(t, s)
	})
	t.Run("the kubelet asked for slices of the locked pod", func(t *testing.T) {
		s := refused(t, sliced("other", 1))
		s.report("pod", fails)
		if _, err := s.give(1); err == nil || !strings.Contains(err.Error(), "team/pod, which the lock of the node names, does not wait") {
			t.Error(err)
		}
		if got := s.state("pod"); got != "free failed" || s.slices() > 0 {
			t.Errorf("%s, %d slices", got, s.slices())
		}
	})
	t.Run("no scheduler chose slices for the other", func(t *testing.T) {
		refused(t, sliced("other", 1, func(p *corev1.Pod) { p.Annotations = nil }))
	})
	// The kubelet was killed before it had the answer for the other, whose lock was released,
	// and asks again.
	t.Run("the kubelet asks again for the other", func(t *testing.T) {
		s := newSlicing(t, lockOf+"other", sliced("other", 1))
		if _, err := s.give(1); err != nil {
			t.Fatal(err)
		}
		s.bind(sliced("pod", 1))
		s.lock(lockOf + "pod")
		if _, err := s.give(1); err == nil || !strings.Contains(err.Error(), both) {
			t.Errorf("got %v, want %s", err, both)
		}
		s.State.SetListed([]allocations.Listed{{Container: allocations.Container{Namespace: "team", Pod: "other", Name: "c0"}, IDs: []string{inventory.SliceID(s.node.GPUs[7].UUID, 0)}}})
		s.first++
		if _, err := s.give(1); err != nil || s.state("pod") != "free success" {
			t.Errorf("the kubelet has the answer: %v, %s", err, s.state("pod"))
		}
	})
	t.Run("the kubelet is asked whether it has the answer for the other", func(t *testing.T) {
		other := allocations.Listed{Container: allocations.Container{Namespace: "team", Pod: "other", Name: "c0"}, IDs: []string{"x"}}
		for _, test := range []struct {
			listed []allocations.Listed
			err    error
			want   string
		}{
			{nil, nil, both},
			{[]allocations.Listed{other}, errors.New("away"), both},
			{[]allocations.Listed{other}, nil, ""},
		} {
			s := newSlicing(t, lockOf+"other", sliced("other", 1))
			s.Slices.List = func(context.Context) ([]allocations.Listed, error) { return test.listed, test.err }
			if _, err := s.give(1); err != nil {
				t.Fatal(err)
			}
			s.bind(sliced("pod", 1))
			s.lock(lockOf + "pod")
			s.first++
			_, err := s.give(1)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("listed %v, %v: got %v, want %q", test.listed, test.err, err, test.want)
			}
		}
	})
	t.Run("the API server does not know yet that the other was refused", func(t *testing.T) {
		s := newSlicing(t, lockOf+"pod", sliced("pod", 1), sliced("other", 1))
		s.Slices.Patience = time.Minute
		time.AfterFunc(100*time.Millisecond, func() { s.report("other", fails) })
		served(t, s)
	})
	for what, other := range map[string]func(*corev1.Pod){
		"the other is of another node": func(p *corev1.Pod) { p.Spec.NodeName = "b" },
		"the other is not bound":       func(p *corev1.Pod) { p.Spec.NodeName = "" },
		"the other runs":               func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning },
		"the other is being started":   func(p *corev1.Pod) { p.Status.ContainerStatuses = make([]corev1.ContainerStatus, 1) },
		"the other has ended":          func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded },
		"the other requests no slices": func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = nil },
		"the other requests more than asked": func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits[protocol.SliceResource] = resource.MustParse("2")
		},
	} {
		t.Run(what, func(t *testing.T) {
			served(t, newSlicing(t, lockOf+"pod", sliced("pod", 1), sliced("other", 1, other)))
		})
	}
}

// TestDeletedMeanwhile: the kubelet asks for a pod that is deleted. Before it is answered, the
// lock is released, and a scheduler binds another pod. It does not lose its slices to the one
// that was deleted.
func TestDeletedMeanwhile(t *testing.T) {
	s := newSlicing(t, lockOf+"deleted", sliced("deleted", 1))
	turn := s.Slices.takeTurn()
	answer := make(chan error)
	go func() {
		_, err := s.give(1)
		answer <- err
	}()
	for read := false; !read; time.Sleep(time.Millisecond) {
		for _, action := range s.client.Actions() {
			read = read || action.Matches("get", "nodes")
		}
	}
	if err := s.client.CoreV1().Pods("team").Delete(t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.lock(lockOf + "next")
	s.bind(sliced("next", 1))
	turn.end()
	if err := <-answer; err == nil || !strings.Contains(err.Error(), "pod team/deleted, which the lock of the node names, does not wait") {
		t.Errorf("the pod that was deleted: %v", err)
	}
	if got := s.state("next"); got != "locked allocating" {
		t.Errorf("the next pod: %s", got)
	}
	if _, err := s.give(1); err != nil || s.state("next") != "free success" {
		t.Errorf("the next pod: %v, %s", err, s.state("next"))
	}
}

// TestWithoutLock serves the only pod that waits, if that is allowed.
func TestWithoutLock(t *testing.T) {
	one, two := sliced("one", 1), sliced("two", 1)
	s := newSlicing(t, "", one)
	s.Slices.WithoutLock = true
	all := func(pods ...*corev1.Pod) (all []allocate.Request) {
		for _, p := range pods {
			all = append(all, requestsOf(p)...)
		}
		return all
	}
	for i, test := range []struct {
		requests []allocate.Request
		want     string
	}{
		{nil, "no pod is known that waits"},
		{all(one, two), "several pods wait"},
		{all(one), ""},
		{all(one), "no pod is known that waits"}, // it is served
		{all(one, two), ""},
	} {
		if i == 4 {
			s.report("one", starts)
			s.bind(two)
		}
		s.State.SetRequests(test.requests)
		if _, err := s.give(1); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// TestAsk: what the API server refuses is asked once, and what it may permit later again.
func TestAsk(t *testing.T) {
	for name, c := range map[string]struct {
		first error
		want  int
	}{
		"invalid":   {apierrors.NewInvalid(schema.GroupKind{}, "n", nil), 1},
		"bad":       {apierrors.NewBadRequest("x"), 1},
		"gone":      {apierrors.NewNotFound(schema.GroupResource{}, "n"), 1},
		"forbidden": {apierrors.NewForbidden(schema.GroupResource{}, "n", nil), 2},
		"busy":      {apierrors.NewTooManyRequestsError("x"), 2},
		"away":      {errors.New("away"), 2},
	} {
		asked := 0
		err := Locker{wait: time.Minute}.ask(t.Context(), func(context.Context) error {
			if asked++; asked == 1 {
				return c.first
			}
			return nil
		})
		if asked != c.want || (err == nil) != (c.want == 2) {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
		}
	}
}
