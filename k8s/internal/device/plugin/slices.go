package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
	"github.com/metax-ctk/container-toolkit/k8s/internal/slicefile"
)

// SliceTools are what the Allocator needs for slices.
type SliceTools struct {
	Locker Locker
	// Change makes and removes slices; reader.Client's Slices fits.
	Change func(context.Context, reader.Change) (gpu.Node, error)
	// Files say, for programs beside the plugin, which slice belongs to which device of the kubelet.
	Files slicefile.Dir
	// WithoutLock serves also a pod that no lock names, if it is the only one that waits for slices.
	WithoutLock bool
	// Patience is how long a pod waits while the kubelet may be asking for another one.
	Patience time.Duration
	// Away is how long a pod waits while the API server does not say whose the lock is.
	Away time.Duration

	said string // why Files could not be written
}

// sliceTime bounds one answer to Allocate for slices.
const sliceTime = 6 * time.Minute

// allocateSlices answers for the container that is next in the pod of the node's lock. Whatever
// happens, the scheduler is told, and the lock is released when the pod does not need it any more.
func (a *Allocator) allocateSlices(ids []string) (*v1beta1.ContainerAllocateResponse, error) {
	if a.Slices == nil {
		return nil, errors.New("slices cannot be given without an API server")
	}
	ctx, cancel := context.WithTimeout(context.Background(), sliceTime)
	defer cancel()
	locker := a.Slices.Locker
	locker.wait = a.Slices.Away
	// The lock counts as it is when the kubelet asks. Later, Sweep may have released it because the pod was
	// deleted, and a scheduler may have locked the node for another pod.
	lock, _, err := locker.Lock(ctx)
	if err != nil {
		return nil, err
	}
	a.slicing.Lock()
	defer a.slicing.Unlock()
	if lock.Pod == "" {
		if lock, err = a.withoutLock(); err != nil {
			return nil, err
		}
	}
	pod, err := locker.Pod(ctx, lock)
	if err != nil {
		return nil, err
	}
	if err := a.checkAsked(ctx, locker, lock, pod, len(ids)); err != nil {
		a.Metrics.allocated(err)
		a.settleLock(ctx, lock, pod)
		return nil, err
	}
	answer, err := a.giveSlices(ctx, pod, ids)
	a.Metrics.allocated(err)
	if err != nil {
		a.release(ctx, lock, pod, foreign.PhaseFailed)
		return nil, err
	}
	a.Log.Info("allocated slices", "ids", ids, "namespace", pod.Namespace, "pod", pod.Name)
	a.writeSliceFiles()
	a.settleLock(ctx, lock, pod)
	a.ask()
	if a.Changed != nil {
		a.Changed()
	}
	return response(answer), nil
}

// withoutLock returns a lock for the only pod that waits for slices.
func (a *Allocator) withoutLock() (lock foreign.Lock, err error) {
	if !a.Slices.WithoutLock {
		return lock, fmt.Errorf("no scheduler has locked the node (%s): slices are given only to the pod that the lock names", foreign.LockAnnotation)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.requests {
		found := foreign.Lock{Namespace: r.Namespace, Pod: r.Pod}
		if r.Resource != protocol.SliceResource || r.Admitted || a.state.Has(r.Container) || found == lock {
			continue
		}
		if lock.Pod != "" {
			return foreign.Lock{}, errors.New("several pods wait for slices, and no lock says which one is next")
		}
		lock = found
	}
	if lock.Pod == "" {
		return lock, errors.New("no pod is known that waits for slices")
	}
	return lock, nil
}

// checkAsked fails if the kubelet may be asking for another pod than that of the lock, whose slices that pod
// would get: the kubelet does not say for which pod it asks. A pod that was answered or refused a moment ago
// is waited for; neither the kubelet's list nor the API server may show that yet.
func (a *Allocator) checkAsked(ctx context.Context, locker Locker, lock foreign.Lock, pod *corev1.Pod, count int) error {
	if pod == nil || pod.Spec.NodeName != locker.Node || (pod.Status.Phase != corev1.PodPending && pod.Status.Phase != "") {
		return fmt.Errorf("pod %s/%s, which the lock of the node names, does not wait on this node", lock.Namespace, lock.Pod)
	}
	for late := time.Now().Add(a.Slices.Patience); ; time.Sleep(a.Slices.Patience / 20) {
		pods, err := a.listPods(ctx, locker)
		if err != nil {
			return err
		}
		_, state, listed := a.now()
		at := slices.IndexFunc(pods, func(p corev1.Pod) bool {
			return p.UID != pod.UID && allocate.MayAsk(&p, locker.Node, count, state, listed)
		})
		if at < 0 {
			return nil
		}
		if !time.Now().Before(late) {
			return fmt.Errorf("pod %s/%s also waits for slices on this node, which is locked for %s/%s: only one that the lock names is given some",
				pods[at].Namespace, pods[at].Name, lock.Namespace, lock.Pod)
		}
	}
}

// listPods returns the pods of the node, and forgets those that have ended: a scheduler may know that, and
// choose their GPUs, before the watch of the plugin says so. The caller has slicing.
func (a *Allocator) listPods(ctx context.Context, locker Locker) ([]corev1.Pod, error) {
	a.mu.Lock()
	known := a.requests
	a.mu.Unlock()
	pods, err := locker.Pods(ctx)
	if err != nil {
		return nil, err
	}
	hasEnded := func(c allocations.Container) bool {
		return !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return string(p.UID) == c.UID && !objects.HasEnded(&p) })
	}
	a.update(func() {
		a.requests = slices.DeleteFunc(slices.Clone(a.requests), func(r allocate.Request) bool {
			return slices.ContainsFunc(known, func(k allocate.Request) bool { return k.UID == r.UID }) && hasEnded(r.Container)
		})
		a.record(allocations.State{Entries: slices.DeleteFunc(slices.Clone(a.state.Entries), func(e allocations.Entry) bool {
			return len(e.Slices) > 0 && e.For != nil && e.For.UID != "" && hasEnded(*e.For)
		})})
	})
	return pods, nil
}

// giveSlices decides what the next container of a pod gets, has it made, and records it.
func (a *Allocator) giveSlices(ctx context.Context, pod *corev1.Pod, ids []string) (allocate.Answer, error) {
	p, err := allocate.NewSlicePod(pod)
	if err != nil {
		return allocate.Answer{}, err
	}
	s, state, listed := a.now()
	if s == nil {
		return allocate.Answer{}, errNoNode
	}
	grant, err := s.Slices(p, len(ids), state)
	if err != nil {
		return allocate.Answer{}, err
	}
	node, err := a.Slices.Change(ctx, s.Change(grant, state, listed))
	if err != nil {
		return allocate.Answer{}, fmt.Errorf("make the slices: %w", err)
	}
	choice, _ := protocol.ParsePod(pod.Annotations)
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, err := allocate.GiveSlices(node, grant, a.form(false, choice.MACA)) // CDI specs do not have its slices
	if err != nil {
		return allocate.Answer{}, err
	}
	// Settled at once, the record of a plugin that is killed now says whether the pod was known.
	now := time.Now()
	a.record(a.state.Add(allocations.Entry{IDs: ids, At: now, For: &grant.Container, Slices: grant.Slices}).Settle(a.listed, a.wanted(), now))
	a.store(allocate.New(node, s.Devices(), s))
	return answer, nil
}

// now returns the Snapshot, the record, and what the kubelet lists of pods that have not ended.
func (a *Allocator) now() (*allocate.Snapshot, allocations.State, []allocations.Listed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	listed := a.listed
	if pods := a.wanted(); pods != nil {
		listed = allocations.NotEnded(listed, pods)
	}
	return a.snapshot.Load(), a.state, listed
}

// settleLock releases a lock that its pod does not need any more.
func (a *Allocator) settleLock(ctx context.Context, lock foreign.Lock, pod *corev1.Pod) {
	_, state, _ := a.now()
	if release, phase := allocate.SettleLock(lock, a.Slices.Locker.Node, pod, state); release {
		a.release(ctx, lock, pod, phase)
	}
}

// release says what became of a pod, and releases its lock. What fails is tried again by Sweep, which finds
// the pod by the lock.
func (a *Allocator) release(ctx context.Context, lock foreign.Lock, pod *corev1.Pod, phase string) {
	var err error
	if pod != nil && phase != "" {
		err = a.Slices.Locker.SetPhase(ctx, pod, phase)
	}
	if err == nil || objects.IsRefusal(err) {
		err = errors.Join(err, a.Slices.Locker.Release(ctx, lock))
	}
	if err != nil {
		a.Log.Warn("the lock of the node is not released yet", "pod", lock.Pod, "namespace", lock.Namespace, "reason", err)
	}
}

// Sweep puts right what a plugin that was killed, a pod that was deleted or an API server that was
// away left: a lock that no pod needs, if locked says that there is one, and slices of pods that
// have ended.
func (a *Allocator) Sweep(ctx context.Context, locked bool) {
	a.slicing.Lock()
	defer a.slicing.Unlock()
	s, state, listed := a.now()
	if s == nil {
		return
	}
	if locked {
		lock, _, err := a.Slices.Locker.Lock(ctx)
		if err == nil && lock.Pod != "" {
			var pod *corev1.Pod
			if pod, err = a.Slices.Locker.Pod(ctx, lock); err == nil {
				a.settleLock(ctx, lock, pod)
			}
		}
		if err != nil {
			a.Log.Warn("the lock of the node cannot be checked", "reason", err)
		}
	}
	a.writeSliceFiles()
	var change reader.Change
	for _, o := range s.Orphans(state, listed) {
		change.Remove = append(change.Remove, reader.Alias{GPU: o.GPU, Alias: o.Alias})
	}
	if len(change.Remove) == 0 {
		return
	}
	if _, err := a.Slices.Change(ctx, change); err != nil {
		a.Log.Warn("slices that no pod has cannot be removed", "reason", err)
		return
	}
	a.Log.Info("removed slices that no pod has", "slices", change.Remove)
}

// writeSliceFiles brings the files up to date. What fails costs an exporter the user of a slice, and no
// pod its slices; Sweep tries again. The caller has slicing.
func (a *Allocator) writeSliceFiles() {
	s, state, _ := a.now()
	said := ""
	if err := a.Slices.Files.Set(s.SliceFiles(state), func(f protocol.SliceFile) bool { return allocate.IsOwnAlias(f.Alias) }); err != nil {
		said = err.Error()
	}
	if said != "" && said != a.Slices.said {
		a.Log.Warn("which pod has which slice is not written for exporters", "dir", string(a.Slices.Files), "reason", said)
	}
	a.Slices.said = said
}

// checkSlices checks, before a container starts, the GPUs of the slices that it was given.
func (a *Allocator) checkSlices(s *allocate.Snapshot, ids []string) ([]inventory.Device, error) {
	_, state, _ := a.now()
	var devices []string
	for _, e := range state.Entries {
		if slices.ContainsFunc(e.IDs, func(id string) bool { return slices.Contains(ids, id) }) {
			for _, part := range e.Slices {
				devices = append(devices, inventory.SliceID(part.UUID, 0))
			}
		}
	}
	if len(devices) == 0 {
		return nil, errors.New("its slices are gone, as after a reboot of the node; delete the pod")
	}
	return s.Check(devices)
}
