// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/faults"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Faults does what package faults decides about lost GPUs. It needs list, watch and patch on
// nodes, and for evictions get on pods and create on pods/eviction of all namespaces.
type Faults struct {
	Client client.Client
	// Pods reads one pod at a time from the API server.
	Pods client.Reader
	Mode faults.Mode
	Log  *slog.Logger
	Now  func() time.Time
	// Evict requests an eviction.
	Evict Evict

	// mutex lets one look at a time write: what one has decided is not carried out after a
	// Release.
	mutex  sync.Mutex
	memory faults.Memory
	held   string // the last reason that was logged
}

// mostReads is how many pods are read in one look.
const mostReads = 20

// Reconcile does what is to be done now.
func (f *Faults) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if o, err := readActive(ctx, f.Client, request); o == nil {
		return reconcile.Result{}, err
	}
	nodes, err := f.listNodes(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := f.memory.Decide(f.Mode, nodes, f.Now())
	if plan.Held != f.held {
		if f.held = plan.Held; f.held != "" {
			f.Log.Warn("no pod is evicted", "reason", f.held)
		}
	}
	err = errors.Join(f.writeTaints(ctx, plan.Changes), f.evictFirst(ctx, plan.Evict))
	if apierrors.IsConflict(err) { // what was read is not the latest
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{RequeueAfter: plan.Again}, err
}

// Release removes the taints, and reports whether there was none.
func (f *Faults) Release(ctx context.Context) (done bool, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	nodes, err := f.listNodes(ctx)
	if err != nil {
		return false, err
	}
	plan := f.memory.Decide(faults.None, nodes, f.Now())
	return len(plan.Changes) == 0, f.writeTaints(ctx, plan.Changes)
}

// listNodes are those with GPUs, or with the taint, sorted. A record that cannot be read is
// logged, and counts as none.
func (f *Faults) listNodes(ctx context.Context) (nodes []faults.Node, err error) {
	var list corev1.NodeList
	if err := f.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the Nodes: %w", err)
	}
	for _, n := range list.Items {
		if n.Labels[protocol.LabelInstalled] != "true" && !isTainted(&n) {
			continue
		}
		one := faults.Node{Name: n.Name, Version: n.ResourceVersion, Taints: n.Spec.Taints}
		if text := n.Annotations[protocol.FaultsAnnotation]; text != "" {
			if one.Faults, err = protocol.ParseFaults(text); err != nil {
				f.Log.Warn("which GPUs a node has lost cannot be read", "node", n.Name, "error", err.Error())
			}
		}
		nodes = append(nodes, one)
	}
	slices.SortFunc(nodes, func(a, b faults.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}

// isTainted reports whether a Node has the taint.
func isTainted(o client.Object) bool {
	n, ok := o.(*corev1.Node)
	return ok && slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == protocol.FatalTaint })
}

// writeTaints writes the taints of nodes, unless somebody else wrote the Node in the meantime.
func (f *Faults) writeTaints(ctx context.Context, changes []faults.Change) error {
	var errs []error
	for _, c := range changes {
		text, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": c.Node.Version}, "spec": map[string]any{"taints": c.Taints},
		})
		if err == nil {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.Node.Name}}
			err = f.Client.Patch(ctx, node, client.RawPatch(types.MergePatchType, text))
		}
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("write the taints of Node %s: %w", c.Node.Name, err))
			continue
		}
		f.Log.Info("taints changed", "node", c.Node.Name, "reason", c.Message)
	}
	return errors.Join(errs...)
}

// evictFirst evicts the first of the pods that still is one with a lost GPU. That a disruption
// budget forbids it for now is no mistake, and takes its turn.
func (f *Faults) evictFirst(ctx context.Context, candidates []faults.Candidate) error {
	for _, c := range candidates[:min(len(candidates), mostReads)] {
		pod := &corev1.Pod{}
		err := f.Pods.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name}, pod)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read pod %s/%s: %w", c.Namespace, c.Name, err)
		}
		if err != nil || !hasLost(pod, c) {
			f.memory.Tried(c.UID, false, f.Now())
			continue
		}
		f.memory.Tried(c.UID, true, f.Now())
		says := metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name,
			Labels:      map[string]string{protocol.EvictsLabel: protocol.EvictsLostGPUPod},
			Annotations: map[string]string{protocol.EvictsFromAnnotation: c.Node},
		}
		return f.Evict.requestEviction(ctx, says, pod.UID,
			f.Log.With("node", c.Node, "gpu", string(c.Fault.UUID), "code", c.Fault.Code))
	}
	return nil
}

// hasLost reports whether a pod is the one of a record and goes on: the agent of a node names
// no pod of another node, and none without GPUs. A pod of a file of the kubelet's cannot be
// evicted.
func hasLost(pod *corev1.Pod, c faults.Candidate) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return string(pod.UID) == c.UID && pod.Spec.NodeName == c.Node && usesGPU(pod) && !objects.HasEnded(pod) &&
		pod.DeletionTimestamp == nil && (owner == nil || owner.Kind != "Node")
}

// setupWithManager makes the manager call Faults.
func (f *Faults) setupWithManager(m manager.Manager, only reconcile.Request, options controller.Options) error {
	always := handler.EnqueueRequestsFromMapFunc(
		func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{only} })
	changed := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*corev1.Node)
		after, ok2 := e.ObjectNew.(*corev1.Node)
		return !ok1 || !ok2 ||
			before.Annotations[protocol.FaultsAnnotation] != after.Annotations[protocol.FaultsAnnotation] ||
			!equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
			before.Labels[protocol.LabelInstalled] != after.Labels[protocol.LabelInstalled]
	}}
	return builder.ControllerManagedBy(m).Named("lost-gpus").
		WithOptions(options).
		Watches(&v1alpha1.ClusterOperator{}, always).
		Watches(&corev1.Node{}, always, builder.WithPredicates(changed)).
		Complete(f)
}
