// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/rollout"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Upgrader upgrades the driver of the nodes as package rollout plans it. It needs list, watch
// and patch on nodes and patch on clusteroperators/status; and to upgrade also list and watch
// on pods, create on pods/eviction and delete on pods of its namespace.
type Upgrader struct {
	Client    client.Client
	Namespace string
	// Upgrades reports whether it has the rights to upgrade. If not, it puts nodes back into
	// service.
	Upgrades bool
	Log      *slog.Logger
	Now      func() time.Time
	// Evict requests an eviction.
	Evict Evict

	// mutex lets one look at a time write: what one has decided is not carried out after a
	// Release.
	mutex sync.Mutex
	// tried is when the eviction of a pod was requested.
	tried map[types.UID]time.Time
}

// between is how long after an eviction that was refused the next one is requested.
const between = 10 * time.Second

// batch is how much of a plan is carried out before the cluster is looked at again, so that a
// pause takes effect.
const batch = 100

// readActive reads the ClusterOperator; nil if it is away, paused or deleted: what nodes have
// of a deleted one, the Reconciler takes back.
func readActive(ctx context.Context, c client.Client, request reconcile.Request) (*v1alpha1.ClusterOperator, error) {
	o := &v1alpha1.ClusterOperator{}
	err := c.Get(ctx, request.NamespacedName, o)
	if err != nil || o.Spec.Paused || !o.DeletionTimestamp.IsZero() {
		return nil, client.IgnoreNotFound(err)
	}
	return o, nil
}

// Reconcile does what is to be done now, and comes back if that is more than a batch.
func (u *Upgrader) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	o, err := readActive(ctx, u.Client, request)
	if o == nil {
		return reconcile.Result{}, err
	}
	s, err := u.readSnapshot(ctx, o)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := rollout.Decide(s)
	more := cut(&plan)
	// The nodes are in the status first, which fails if another controller wrote it in the
	// meantime.
	if err = u.status(ctx, o, plan); err == nil {
		err = u.carryOut(ctx, plan)
	}
	if apierrors.IsConflict(err) { // what was read is not the latest
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if err == nil && more {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if err != nil || plan.Again.IsZero() {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: max(plan.Again.Sub(u.Now()), time.Second)}, nil
}

// cut leaves of a plan what is carried out at once, and reports whether that is not all.
func cut(plan *rollout.Plan) (more bool) {
	left := batch
	plan.Changes, left, more = first(plan.Changes, left, more)
	plan.Remove, left, more = first(plan.Remove, left, more)
	plan.Evict, _, more = first(plan.Evict, left, more)
	return more
}

func first[T any](list []T, most int, more bool) ([]T, int, bool) {
	n := min(len(list), most)
	return list[:n], most - n, more || n < len(list)
}

// Release puts all nodes back into service that an upgrade took, and reports whether there was
// none.
func (u *Upgrader) Release(ctx context.Context) (done bool, err error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	nodes, err := u.listRolloutNodes(ctx)
	if err != nil {
		return false, err
	}
	plan := rollout.Decide(rollout.Snapshot{Nodes: nodes})
	return len(plan.Changes) == 0, u.carryOut(ctx, plan)
}

// status writes the nodes and the condition of a plan, if they changed, unless somebody else
// wrote the object.
func (u *Upgrader) status(ctx context.Context, o *v1alpha1.ClusterOperator, plan rollout.Plan) error {
	var requested *v1alpha1.DriverUpgradeStatus
	if plan.Reason != "" {
		requested = &v1alpha1.DriverUpgradeStatus{
			Ready: plan.Ready, Reason: plan.Reason, Message: plan.Message,
			Nodes: taken(plan.Taken),
		}
	}
	if equality.Semantic.DeepEqual(o.Status.DriverUpgrade, requested) {
		return nil
	}
	before := o.DeepCopy()
	o.Status.DriverUpgrade = requested
	if err := u.Client.Status().Patch(ctx, o,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the status of ClusterOperator %s: %w", o.Name, err)
	}
	return nil
}

func taken(list []rollout.Take) (nodes []v1alpha1.DriverUpgradeNode) {
	for _, t := range list {
		nodes = append(nodes, v1alpha1.DriverUpgradeNode{Name: t.Name, Turn: t.Turn})
	}
	return nodes
}

// carryOut does what a plan says. What fails does not keep the rest from being done; what
// changed in the meantime is left to the next look.
func (u *Upgrader) carryOut(ctx context.Context, plan rollout.Plan) error {
	var errs []error
	for _, c := range plan.Changes {
		errs = append(errs, u.change(ctx, c))
	}
	for _, d := range plan.Remove {
		errs = append(errs, u.restart(ctx, d))
	}
	now := u.Now()
	for uid, at := range u.tried {
		if now.Sub(at) >= between {
			delete(u.tried, uid)
		}
	}
	for _, p := range plan.Evict {
		errs = append(errs, u.evict(ctx, p, now))
	}
	return errors.Join(errs...)
}

// change writes the record of a node and whether it is cordoned, at once.
func (u *Upgrader) change(ctx context.Context, c rollout.Change) error {
	var record any
	if text := c.Record.String(); text != "" {
		record = text
	}
	patch := map[string]any{"metadata": map[string]any{
		"resourceVersion": c.Version,
		"annotations":     map[string]any{protocol.UpgradeAnnotation: record},
	}}
	if c.Unschedulable != nil {
		patch["spec"] = map[string]any{"unschedulable": *c.Unschedulable}
	}
	text, err := json.Marshal(patch)
	if err == nil {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.Node}}
		err = u.Client.Patch(ctx, node, client.RawPatch(types.MergePatchType, text))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write how far the driver's upgrade on Node %s is: %w", c.Node, err)
	}
	u.Log.Info("driver upgrade", "node", c.Node, "state", c.Record.State, "why", c.Record.Why)
	return nil
}

// restart deletes a driver pod, so that a new one comes.
func (u *Upgrader) restart(ctx context.Context, d rollout.Driver) error {
	uid := types.UID(d.UID)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
	err := u.Client.Delete(ctx, pod, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the driver pod %s: %w", d.Name, err)
	}
	return nil
}

// evict evicts a pod. That a disruption budget forbids it for now is no mistake.
func (u *Upgrader) evict(ctx context.Context, p rollout.Pod, now time.Time) error {
	uid := types.UID(p.UID)
	if _, ok := u.tried[uid]; ok {
		return nil
	}
	if u.tried == nil {
		u.tried = map[types.UID]time.Time{}
	}
	u.tried[uid] = now
	says := map[string]string{protocol.EvictsLabel: protocol.EvictsPod}
	if p.GPU {
		says[protocol.EvictsLabel] = protocol.EvictsGPUPod
	}
	if !p.Managed {
		says[protocol.EvictsAloneLabel] = "true"
	}
	return u.Evict.requestEviction(ctx, metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: says}, uid, u.Log)
}
