package plugin

import (
	"context"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// givenTime is how often pods are told what they were given; only news are written.
const givenTime = 2 * time.Second

// given returns the pods that have GPUs.
func (a *Allocator) given() []allocate.Given {
	s, _, listed := a.now()
	if s == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return allocate.GivenTo(a.requests, listed, s.Devices())
}

// teller writes to pods which GPUs they were given.
type teller struct {
	client corev1client.PodsGetter
	log    *slog.Logger
	told   map[string]string // the annotation, by UID of the pod
	failed bool              // the last time, which was logged
}

// run writes, and tries again what failed, until ctx ends.
func (t *teller) run(ctx context.Context, given func() []allocate.Given) {
	again := time.NewTicker(givenTime)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			t.tell(ctx, given())
		}
	}
}

func (t *teller) tell(ctx context.Context, given []allocate.Given) {
	told := map[string]string{}
	var failure error
	for _, g := range given {
		text := protocol.Given(g.GPUs)
		if t.told[g.UID] != text && failure == nil {
			limited, cancel := context.WithTimeout(ctx, listLimit)
			_, err := t.client.Pods(g.Namespace).Patch(limited, g.Pod, types.MergePatchType,
				patch("", types.UID(g.UID), protocol.GivenAnnotation, &text), metav1.PatchOptions{FieldManager: protocol.Device})
			cancel()
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // another pod has the name
				failure = err
				continue
			}
		} else if t.told[g.UID] != text {
			continue // after a failure the rest waits
		}
		told[g.UID] = text
	}
	t.told = told
	if failure != nil && !t.failed && ctx.Err() == nil {
		t.log.Warn("which GPUs a pod was given is not written to it yet", "annotation", protocol.GivenAnnotation, "reason", failure)
	}
	t.failed = failure != nil
}
