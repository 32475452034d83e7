// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// api is a fake API server with one Node, which has what others wrote.
type api struct {
	*fake.Clientset
	down bool
	deny error // of Events
}

func newAPI() *api {
	a := &api{Clientset: fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", Annotations: map[string]string{"other": "1"}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	})}
	// An API server keeps what a manager applied to the status apart from the rest; the fake
	// does not.
	a.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchActionImpl)
		if patch.Subresource != "status" {
			return false, nil, nil
		}
		part := &unstructured.Unstructured{}
		if err := json.Unmarshal(patch.Patch, part); err != nil {
			return true, nil, err
		}
		patch.PatchOptions.FieldManager += "-status"
		if err := a.Tracker().Apply(patch.Resource, part, "", patch.PatchOptions); err != nil {
			return true, nil, err
		}
		n, err := a.Tracker().Get(patch.Resource, "", patch.Name)
		return true, n, err
	})
	// It gives Events no names.
	a.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, action.(clienttesting.CreateAction).GetObject(), a.deny
	})
	a.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return a.down, nil, errors.New("away")
	})
	return a
}

func (a *api) node(t *testing.T) *corev1.Node {
	t.Helper()
	n, err := a.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", "n")
	if err != nil {
		t.Fatal(err)
	}
	return n.(*corev1.Node)
}

// writes counts the patches of the Node and of its status.
func (a *api) writes() (nodes, statuses int) {
	for _, action := range a.Actions() {
		if p, ok := action.(clienttesting.PatchAction); ok {
			if p.GetSubresource() == "status" {
				statuses++
			} else {
				nodes++
			}
		}
	}
	return nodes, statuses
}

func (a *api) events(t *testing.T) (all []string) {
	t.Helper()
	for _, action := range a.Actions() {
		if c, ok := action.(clienttesting.CreateAction); ok {
			e := c.GetObject().(*corev1.Event)
			all = append(all, e.Type+" "+e.Reason+" "+e.Message)
		}
	}
	return all
}

func TestPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := newAPI()
		p := New(a.CoreV1(), "n", slog.New(slog.DiscardHandler))
		go p.Run(ctx)
		wait := func(d time.Duration) { time.Sleep(d); synctest.Wait() }

		f, changes := facts(t, "c500-8")
		for i := range 10 { // ten changes within a second are one write
			f.InUse = []int{i % 8}
			p.Set(f, changes)
			changes = nil
			wait(50 * time.Millisecond)
		}
		if nodes, _ := a.writes(); nodes != 0 {
			t.Errorf("%d writes at once", nodes)
		}
		wait(joinTime)
		n := a.node(t)
		if nodes, statuses := a.writes(); nodes != 1 || statuses != 1 || len(a.events(t)) != 0 {
			t.Errorf("%d writes, %d of the status, events %q", nodes, statuses, a.events(t))
		}
		s, err := protocol.ParseNodeState(n.Annotations[protocol.StateAnnotation], 8)
		if err != nil || s.Generation != 1 || len(s.Free) != 7 || n.Annotations["other"] != "1" || len(n.Annotations) != 5 {
			t.Errorf("%v: %+v of %v", err, s, n.Annotations)
		}
		if len(n.Status.Conditions) != 4 || n.Status.Conditions[1].Status != corev1.ConditionFalse {
			t.Errorf("conditions are %+v", n.Status.Conditions)
		}
		for range 5 { // nothing new
			f.State.Generation++
			p.Set(f, nil)
			wait(5 * time.Second)
		}
		if nodes, statuses := a.writes(); nodes != 1 || statuses != 1 {
			t.Errorf("%d writes, %d of the status, of what has not changed", nodes, statuses)
		}

		// A change of the mode waits, and the configuration has a mistake.
		f.Blocked = "mode stays native, sgpu is configured: team/job (container main) has GPU-1"
		p.Set(f, nil, Invalid("shareNums \"0\"; want 1 to 256"))
		wait(joinTime)
		if got := a.node(t).Status.Conditions[2]; got.Type != "MetaXGPUModePending" || got.Status != corev1.ConditionTrue || got.Reason != "ModeNotAsConfigured" || got.Message != f.Blocked {
			t.Errorf("condition is %+v", got)
		}
		if diff := cmp.Diff([]string{"Warning MetaXDeviceConfigInvalid ConfigMap metax-device-config: shareNums \"0\"; want 1 to 256"}, a.events(t)); diff != "" {
			t.Error(diff)
		}
		f.Blocked = ""
		p.Set(f, nil)
		wait(joinTime)
		if got := a.node(t).Status.Conditions[2]; got.Status != corev1.ConditionFalse {
			t.Errorf("condition is %+v", got)
		}

		// Schedulers learn of slices at once, and no more when there are none.
		f.Registration = "[{}]"
		p.Set(f, nil)
		synctest.Wait()
		if got := a.node(t).Annotations[foreign.RegistrationAnnotation]; got != "[{}]" {
			t.Errorf("the registration is %q", got)
		}
		f.Registration = ""
		p.Set(f, nil)
		synctest.Wait()
		if got, ok := a.node(t).Annotations[foreign.RegistrationAnnotation]; ok {
			t.Errorf("the registration is still %q", got)
		}
		n = a.node(t)

		// What somebody else removed comes back, and nothing else changes.
		before := n.Annotations[protocol.StateAnnotation]
		n = n.DeepCopy()
		n.Annotations = map[string]string{"other": "1"}
		n.ManagedFields = nil
		if err := a.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), n, ""); err != nil {
			t.Fatal(err)
		}
		wait(rewriteTime)
		p.Set(f, nil)
		wait(joinTime)
		if n = a.node(t); n.Annotations[protocol.StateAnnotation] != before {
			t.Errorf("the state is %q, want %q", n.Annotations[protocol.StateAnnotation], before)
		}

		// A GPU breaks while the API server is away.
		a.down = true
		broken, _ := facts(t, "c500-8", 3)
		c := broken.State.GPUs[3]
		p.Set(broken, []health.Change{{Condition: c, Before: health.Healthy}})
		wait(30 * time.Second)
		if a.node(t).Annotations[protocol.StateAnnotation] != n.Annotations[protocol.StateAnnotation] {
			t.Error("it was written")
		}
		a.down = false
		a.ClearActions()
		wait(lastRetry)
		n = a.node(t)
		s, err = protocol.ParseNodeState(n.Annotations[protocol.StateAnnotation], 8)
		if err != nil || s.Generation != 4 || !cmp.Equal(s.Unhealthy, []int{3}) {
			t.Errorf("%v: %+v", err, s)
		}
		message := "GPU 3 (0000:12:00.0, " + string(c.UUID) + "): unhealthy: vendor: it is broken"
		if got := n.Status.Conditions[1]; got.Status != corev1.ConditionTrue || got.Reason != "GPUsUnhealthy" || got.Message != message {
			t.Errorf("condition is %+v", got)
		}
		if diff := cmp.Diff([]string{"Warning MetaXGPUUnhealthy " + message}, a.events(t)); diff != "" {
			t.Error(diff)
		}
		if nodes, statuses := a.writes(); nodes != 1 || statuses != 1 {
			t.Errorf("%d writes, %d of the status", nodes, statuses)
		}
		cancel()

		// Another one goes on with the generation and the time of the condition.
		since := n.Status.Conditions[1].LastTransitionTime
		time.Sleep(time.Hour)
		ctx, cancel = context.WithCancel(t.Context())
		p = New(a.CoreV1(), "n", slog.New(slog.DiscardHandler))
		go p.Run(ctx)
		broken.InUse = []int{0}
		p.Set(broken, nil)
		wait(joinTime)
		n = a.node(t)
		s, err = protocol.ParseNodeState(n.Annotations[protocol.StateAnnotation], 8)
		if err != nil || s.Generation != 5 || !n.Status.Conditions[1].LastTransitionTime.Equal(&since) {
			t.Errorf("%v: %+v, %s instead of %s", err, s, n.Status.Conditions[1].LastTransitionTime, since)
		}
		cancel()
	})
}

// TestNodeIsGone: a write does not make the Node anew.
func TestNodeIsGone(t *testing.T) {
	a := newAPI()
	p := New(a.CoreV1(), "gone", slog.New(slog.DiscardHandler))
	if err := p.write(t.Context(), Values{}); !apierrors.IsNotFound(err) {
		t.Errorf("error is %v", err)
	}
	if nodes, statuses := a.writes(); nodes+statuses != 0 {
		t.Errorf("%d writes", nodes+statuses)
	}
}

func TestManyChanges(t *testing.T) {
	p := New(newAPI().CoreV1(), "n", slog.New(slog.DiscardHandler))
	f, changes := facts(t, "superpod-64")
	p.Set(f, changes)
	if len(p.notices) > 0 {
		t.Errorf("GPUs that are healthy from the beginning: %v", p.notices)
	}
	for i := range maxNotices + 9 {
		p.Set(f, nil, Notice{Message: strconv.Itoa(i)})
	}
	if len(p.notices) != maxNotices || p.notices[0].Message != "9" {
		t.Errorf("%d notices wait, the first is %v", len(p.notices), p.notices[0])
	}
}

func TestEvents(t *testing.T) {
	c := health.Change{Condition: health.Condition{GPU: health.GPU{Index: 1}, Health: health.Healthy}}
	if _, ok := healthNotice(c); ok {
		t.Error("a GPU that is healthy from the beginning has an Event")
	}
	for state, want := range map[string]string{health.Healthy: "Normal MetaXGPUHealthy", health.Unhealthy: "Warning MetaXGPUUnhealthy", health.Unknown: "Warning MetaXGPUUnknown"} {
		c.Health, c.Before = state, "x"
		c.Reason = strings.Repeat("a", 2000)
		notice, ok := healthNotice(c)
		e := eventOf("n", notice, time.Now())
		if !ok || e.Type+" "+e.Reason != want || len(e.Message) > 1000 || e.Namespace != "default" {
			t.Errorf("%s: %+v", state, e)
		}
	}
}

// TestRefusedEvents: Events that the API server does not take hold up neither the Node nor
// those after them.
func TestRefusedEvents(t *testing.T) {
	for name, deny := range map[string]error{
		"quota":   apierrors.NewForbidden(corev1.Resource("events"), "", errors.New("exceeded quota")),
		"webhook": apierrors.NewInternalError(errors.New("failed calling webhook")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				a := newAPI()
				p := New(a.CoreV1(), "n", slog.New(slog.DiscardHandler))
				go p.Run(ctx)
				a.deny = deny
				f, _ := facts(t, "c500-8")
				p.Set(f, nil, Invalid("one"))
				time.Sleep(30 * time.Second)
				synctest.Wait()
				f.Registration = "[{}]"
				p.Set(f, nil)
				synctest.Wait()
				if got := a.node(t).Annotations[foreign.RegistrationAnnotation]; got != "[{}]" {
					t.Errorf("schedulers are told %q", got)
				}
				tried, lost := len(a.events(t)), apierrors.IsForbidden(deny)
				if lost && tried != maxRefused {
					t.Errorf("a refused Event was tried %d times", tried)
				}
				a.deny = nil
				a.ClearActions()
				p.Set(f, nil, Invalid("two"))
				time.Sleep(lastRetry)
				synctest.Wait()
				if got := a.events(t); lost && len(got) != 1 || !lost && len(got) != 2 {
					t.Errorf("Events after it: %q", got)
				}
			})
		})
	}
}
