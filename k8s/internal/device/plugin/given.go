// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

const (
	// givenTime is how often pods are told what they were given; only news are written.
	givenTime = 2 * time.Second
	// givenRetry is the greatest time until what failed is tried again.
	givenRetry = time.Minute
)

// teller writes to pods which GPUs they were given.
type teller struct {
	client corev1client.PodsGetter
	log    *slog.Logger
	// kunlunxin writes the indices also, as Kunlunxin's plugin does.
	kunlunxin bool
	told      map[string]string // the GPUs, by UID of the pod
	said      string            // the last failure
}

// run writes until ctx ends. After a failure it waits longer each time.
func (t *teller) run(ctx context.Context, given func() []allocate.Given) {
	pause := givenTime
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if err := t.tell(ctx, given()); err != nil {
			pause = min(2*pause, givenRetry)
		} else {
			pause = givenTime
		}
	}
}

// tell writes what is new. It returns the last failure, and logs it unless it was the last one
// also.
func (t *teller) tell(ctx context.Context, given []allocate.Given) (failure error) {
	told := map[string]string{}
	for _, g := range given {
		text := protocol.Given(g.GPUs)
		if t.told[g.UID] != text {
			if err := t.write(ctx, g, text); err != nil {
				failure = err
				continue
			}
		}
		told[g.UID] = text
	}
	t.told = told
	switch {
	case failure == nil:
		t.said = ""
	case failure.Error() != t.said && ctx.Err() == nil:
		t.said = failure.Error()
		t.log.Warn("which GPUs a pod was given is not written to it yet", "annotation", protocol.GivenAnnotation, "reason",
			t.said)
	}
	return failure
}

// write writes to one pod. A pod that is gone, or whose name another one has, needs nothing.
func (t *teller) write(ctx context.Context, g allocate.Given, text string) error {
	annotations := map[string]*string{protocol.GivenAnnotation: &text}
	if t.kunlunxin {
		annotations[foreign.KunlunxinDevices] = new(wording.List(g.Indices))
	}
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	_, err := t.client.Pods(g.Namespace).Patch(ctx, g.Pod, types.MergePatchType, patch("", types.UID(g.UID), annotations),
		metav1.PatchOptions{FieldManager: protocol.Device}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
