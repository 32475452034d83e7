// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// Locker reads and releases the lock that a scheduler takes on a Node while it binds a pod.
type Locker struct {
	Client corev1client.CoreV1Interface
	Node   string

	wait time.Duration // how long it asks again while the API server does not answer
}

// questionTime bounds one question to the API server; questionAgain is the time between two.
const (
	questionTime  = 5 * time.Second
	questionAgain = 200 * time.Millisecond
)

// ask asks the API server, again and again as long as the Locker waits and another answer is
// possible. A server that has just started also forbids what it permits a moment later.
func (l Locker) ask(ctx context.Context, question func(context.Context) error) error {
	for late := time.Now().Add(l.wait); ; {
		once, cancel := context.WithTimeout(ctx, questionTime)
		err := question(once)
		cancel()
		if err == nil || (objects.IsRefusal(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err)) ||
			!time.Now().Before(late) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(questionAgain):
		}
	}
}

// Lock returns the lock of the Node and the version of the object in which it is. A Node
// without a lock has the zero Lock.
func (l Locker) Lock(ctx context.Context) (lock foreign.Lock, version string, err error) {
	var n *corev1.Node
	err = l.ask(ctx, func(ctx context.Context) (err error) {
		n, err = l.Client.Nodes().Get(ctx, l.Node, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return foreign.Lock{}, "", fmt.Errorf("read the lock of the Node: %w", err)
	}
	lock, err = foreign.ParseLock(n.Annotations[foreign.LockAnnotation])
	return lock, n.ResourceVersion, err
}

// Pod returns the pod of a lock, nil if there is none.
func (l Locker) Pod(ctx context.Context, lock foreign.Lock) (pod *corev1.Pod, err error) {
	err = l.ask(ctx, func(ctx context.Context) (err error) {
		pod, err = l.Client.Pods(lock.Namespace).Get(ctx, lock.Pod, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the pod of the lock: %w", err)
	}
	return pod, nil
}

// Pods returns the pods that are bound to the Node.
func (l Locker) Pods(ctx context.Context) (pods []corev1.Pod, err error) {
	onNode := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", l.Node).String()}
	err = l.ask(ctx, func(ctx context.Context) error {
		list, err := l.Client.Pods(metav1.NamespaceAll).List(ctx, onNode)
		if err == nil {
			pods = list.Items
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the pods of the node: %w", err)
	}
	return pods, nil
}

// lockTries is how often the Node may change while its lock is released.
const lockTries = 5

// Release removes the lock of the Node, if it is still that of the pod.
func (l Locker) Release(ctx context.Context, lock foreign.Lock) error {
	var err error
	for range lockTries {
		var now foreign.Lock
		var version string
		if now, version, err = l.Lock(ctx); err != nil || now != lock {
			return err
		}
		err = l.ask(ctx, func(ctx context.Context) error {
			_, err := l.Client.Nodes().Patch(ctx, l.Node, types.MergePatchType, patch(version, "",
				map[string]*string{foreign.LockAnnotation: nil}), metav1.PatchOptions{FieldManager: protocol.Device})
			return err
		})
		if !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("release the lock of the Node: %w", err)
	}
	return nil
}

// SetPhase states what became of a pod that waits for its slices. A pod of Koordinator has no
// phase. It writes through the status, as teller does: who may patch that cannot change what
// the pod runs.
func (l Locker) SetPhase(ctx context.Context, pod *corev1.Pod, phase string) error {
	if pod.Annotations[foreign.PhaseAnnotation] != foreign.PhaseAllocating {
		return nil
	}
	err := l.ask(ctx, func(ctx context.Context) error {
		_, err := l.Client.Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch("", pod.UID,
			map[string]*string{foreign.PhaseAnnotation: &phase}), metav1.PatchOptions{FieldManager: protocol.Device}, "status")
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the phase of pod %s: %w", pod.Name, err)
	}
	return nil
}

// patch sets annotations, and removes those that are nil, of an object of that version or UID.
func patch(version string, uid types.UID, annotations map[string]*string) []byte {
	meta := map[string]any{"annotations": annotations}
	if version != "" {
		meta["resourceVersion"] = version
	}
	if uid != "" {
		meta["uid"] = uid
	}
	text, _ := json.Marshal(map[string]any{"metadata": meta}) // only strings
	return text
}
