// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
	"github.com/metax-ctk/container-toolkit/k8s/internal/slicefile"
)

// Slices gives slices of GPUs, which it makes for a pod that a scheduler has chosen them for,
// and removes afterwards.
type Slices struct {
	State   *NodeState
	Metrics *Metrics
	Locker  Locker
	// Change makes and removes slices; reader.Client's Slices fits.
	Change func(context.Context, reader.Change) (gpu.Node, error)
	// Files say, for programs beside the plugin, which slice belongs to which device of the
	// kubelet.
	Files slicefile.Dir
	// WithoutLock serves also a pod that no lock names, if it is the only one that waits for
	// slices.
	WithoutLock bool
	// List asks the kubelet, if it is not nil, before a pod waits for the answer to another.
	List ListKubelet
	// Patience is how long a pod waits while the kubelet may be asking for another one.
	Patience time.Duration
	// Away is how long a pod waits while the API server does not say whose the lock is.
	Away time.Duration

	turn sync.Mutex // by takeTurn
	said string     // why Files could not be written; of who has the turn
}

// sliceTurn is the turn of one who makes or removes slices. It lasts while the driver works
// and the API server is asked; the state is open to others meanwhile.
type sliceTurn struct{ *Slices }

func (s *Slices) takeTurn() sliceTurn {
	s.turn.Lock()
	return sliceTurn{s}
}

func (t sliceTurn) end() { t.turn.Unlock() }

// sliceTime bounds one answer to Allocate for slices.
const sliceTime = 6 * time.Minute

// Allocate answers for the container that is next in the pod of the node's lock. The lock
// counts as it is when the kubelet asks. Later, Sweep may have released it because the pod was
// deleted, and a scheduler may have locked the node for another pod.
func (s *Slices) Allocate(ids []string) (*v1beta1.ContainerAllocateResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sliceTime)
	defer cancel()
	locker := s.Locker
	locker.wait = s.Away
	lock, _, err := locker.Lock(ctx)
	if err != nil {
		return nil, err
	}
	turn := s.takeTurn()
	defer turn.end()
	return turn.give(ctx, locker, lock, ids)
}

// give answers for the pod of a lock. Whatever happens, the scheduler is told, and the lock is
// released when the pod does not need it any more.
func (t sliceTurn) give(ctx context.Context, locker Locker, lock foreign.Lock,
	ids []string,
) (*v1beta1.ContainerAllocateResponse, error) {
	var err error
	if lock.Pod == "" && !t.WithoutLock {
		return nil, fmt.Errorf("no scheduler has locked the node (%s): slices are given only to the pod that the lock names",
			foreign.LockAnnotation)
	}
	if lock.Pod == "" {
		if lock, err = t.State.view().onlyWaiting(); err != nil {
			return nil, err
		}
	}
	pod, err := locker.Pod(ctx, lock)
	if err != nil {
		return nil, err
	}
	if err := t.checkAsked(ctx, locker, lock, pod, len(ids)); err != nil {
		t.Metrics.allocated(err)
		t.settleLock(ctx, lock, pod)
		return nil, err
	}
	answer, err := t.makeFor(ctx, pod, ids)
	t.Metrics.allocated(err)
	if err != nil {
		t.release(ctx, lock, pod, foreign.PhaseFailed)
		return nil, err
	}
	t.State.Log.Info("allocated slices", "ids", ids, "namespace", pod.Namespace, "pod", pod.Name)
	t.writeSliceFiles()
	t.settleLock(ctx, lock, pod)
	t.State.askKubelet()
	t.State.report()
	return response(answer), nil
}

// checkAsked fails if the kubelet may be asking for another pod than that of the lock, whose
// slices that pod would get: the kubelet does not say for which pod it asks. It lists a pod
// that was answered as soon as it asks for the next. One that was refused a moment ago is
// waited for: the API server may not show that yet.
func (t sliceTurn) checkAsked(ctx context.Context, locker Locker, lock foreign.Lock, pod *corev1.Pod, count int) error {
	if pod == nil || pod.Spec.NodeName != locker.Node ||
		(pod.Status.Phase != corev1.PodPending && pod.Status.Phase != "") {
		return fmt.Errorf("pod %s/%s, which the lock of the node names, does not wait on this node", lock.Namespace, lock.Pod)
	}
	for late := time.Now().Add(t.Patience); ; time.Sleep(t.Patience / 20) {
		pods, err := t.listPods(ctx, locker)
		if err != nil {
			return err
		}
		other := func() int {
			v := t.State.view()
			return slices.IndexFunc(pods, func(p corev1.Pod) bool {
				return p.UID != pod.UID && allocate.MayAsk(&p, locker.Node, count, v.record, v.notEnded())
			})
		}
		at := other()
		if at >= 0 && t.List != nil {
			if listed, err := t.List(ctx); err == nil { // FollowKubelet logs what fails
				t.State.SetListed(listed)
				at = other()
			}
		}
		if at < 0 {
			return nil
		}
		if !time.Now().Before(late) {
			return fmt.Errorf(
				"pod %s/%s also waits for slices on this node, which is locked for %s/%s: only one that the lock names is given some",
				pods[at].Namespace, pods[at].Name, lock.Namespace, lock.Pod)
		}
	}
}

// listPods returns the pods of the node, and forgets those that have ended: a scheduler may
// know that, and choose their GPUs, before the watch of the plugin says so.
func (t sliceTurn) listPods(ctx context.Context, locker Locker) ([]corev1.Pod, error) {
	known := t.State.view().requests
	pods, err := locker.Pods(ctx)
	if err != nil {
		return nil, err
	}
	t.State.learn(func(v *nodeView) { v.forgetEnded(known, pods) })
	return pods, nil
}

// makeFor decides what the next container of a pod gets, has it made, and records it.
func (t sliceTurn) makeFor(ctx context.Context, pod *corev1.Pod, ids []string) (answer allocate.Answer, err error) {
	p, err := allocate.NewSlicePod(pod)
	if err != nil {
		return answer, err
	}
	before := t.State.view()
	s := before.snapshot
	grant, err := s.Slices(p, len(ids), before.record)
	if err != nil {
		return answer, err
	}
	node, err := t.Change(ctx, s.Change(grant, before.record, before.notEnded()))
	if err != nil {
		return answer, fmt.Errorf("make the slices: %w", err)
	}
	choice, _ := protocol.ParsePod(pod.Annotations)
	t.State.change(func(v *nodeView) {
		form := t.State.form(v, false, choice.MACA, t.State.Log) // CDI specs do not have its slices
		if answer, err = allocate.GiveSlices(node, grant, form); err != nil {
			return
		}
		// Settled at once, the record of a plugin that is killed now says whether the pod was
		// known.
		now := time.Now()
		v.record = v.record.Add(allocations.Entry{IDs: ids, At: now, For: &grant.Container, Slices: grant.Slices})
		v.settle(now)
		v.snapshot = allocate.New(node, s.Devices(), s)
	})
	return answer, err
}

// settleLock releases a lock that its pod does not need any more.
func (t sliceTurn) settleLock(ctx context.Context, lock foreign.Lock, pod *corev1.Pod) {
	if release, phase := allocate.SettleLock(lock, t.Locker.Node, pod, t.State.view().record); release {
		t.release(ctx, lock, pod, phase)
	}
}

// release says what became of a pod, and releases its lock. What fails is tried again by
// Sweep, which finds the pod by the lock.
func (t sliceTurn) release(ctx context.Context, lock foreign.Lock, pod *corev1.Pod, phase string) {
	var err error
	if pod != nil && phase != "" {
		err = t.Locker.SetPhase(ctx, pod, phase)
	}
	if err == nil || objects.IsRefusal(err) {
		err = errors.Join(err, t.Locker.Release(ctx, lock))
	}
	if err != nil {
		t.State.Log.Warn("the lock of the node is not released yet", "pod", lock.Pod, "namespace", lock.Namespace, "reason",
			err)
	}
}

// Sweep puts right what a plugin that was killed, a pod that was deleted or an API server that
// was away left: a lock that no pod needs, if locked says that there is one, and slices of
// pods that have ended.
func (s *Slices) Sweep(ctx context.Context, locked bool) {
	turn := s.takeTurn()
	defer turn.end()
	v := s.State.view()
	if v.snapshot == nil {
		return
	}
	if locked {
		turn.checkLock(ctx)
	}
	turn.writeSliceFiles()
	turn.removeOrphans(ctx, v)
}

// checkLock releases the lock of the node, if there is one that its pod does not need any
// more.
func (t sliceTurn) checkLock(ctx context.Context) {
	lock, _, err := t.Locker.Lock(ctx)
	if err == nil && lock.Pod != "" {
		var pod *corev1.Pod
		if pod, err = t.Locker.Pod(ctx, lock); err == nil {
			t.settleLock(ctx, lock, pod)
		}
	}
	if err != nil {
		t.State.Log.Warn("the lock of the node cannot be checked", "reason", err)
	}
}

// removeOrphans removes the slices that no pod has.
func (t sliceTurn) removeOrphans(ctx context.Context, v *nodeView) {
	var change reader.Change
	for _, o := range v.snapshot.Orphans(v.record, v.notEnded()) {
		change.Remove = append(change.Remove, reader.Alias{GPU: o.GPU, Alias: o.Alias})
	}
	if len(change.Remove) == 0 {
		return
	}
	if _, err := t.Change(ctx, change); err != nil {
		t.State.Log.Warn("slices that no pod has cannot be removed", "reason", err)
		return
	}
	t.State.Log.Info("removed slices that no pod has", "slices", change.Remove)
}

// writeSliceFiles brings the files up to date. What fails costs an exporter the user of a
// slice, and no pod its slices; Sweep tries again.
func (t sliceTurn) writeSliceFiles() {
	v := t.State.view()
	said := ""
	if err := t.Files.Set(v.snapshot.SliceFiles(v.record),
		func(f protocol.SliceFile) bool { return allocate.IsOwnAlias(f.Alias) }); err != nil {
		said = err.Error()
	}
	if said != "" && said != t.said {
		t.State.Log.Warn("which pod has which slice is not written for exporters", "dir", string(t.Files), "reason", said)
	}
	t.said = said
}
