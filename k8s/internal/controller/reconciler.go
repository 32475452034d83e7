package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Reconciler makes the cluster what the ClusterOperator says. It needs, in all namespaces, the verbs get, list,
// watch and patch on clusteroperators, patch on clusteroperators/status, and list and watch on nodes; in its
// namespace list, watch, create, patch and delete on daemonsets.
type Reconciler struct {
	Client    client.Client
	Manifests operator.Manifests
	Namespace string
	Log       *slog.Logger
	Now       func() time.Time
}

// Reconcile does all that is to be done now. What it waits for comes as an event.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o := &v1alpha1.ClusterOperator{}
	if err := r.Client.Get(ctx, request.NamespacedName, o); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	present, err := r.present(ctx, o)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !o.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.end(ctx, o, present)
	}
	if err := r.finalizer(ctx, o, controllerutil.AddFinalizer); err != nil {
		return reconcile.Result{}, err
	}
	nodes, err := r.nodes(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	rendered, invalid := r.Manifests.Render(o.Spec)
	plan := operator.Decide(operator.Input{Operator: o, Nodes: nodes, Rendered: rendered, Invalid: invalid, Present: present})
	if err = r.carryOut(ctx, plan, present); err != nil {
		plan.Fail(o, err)
	}
	return reconcile.Result{}, errors.Join(err, r.status(ctx, o, plan.Status))
}

// carryOut writes what a plan says. One DaemonSet that fails does not keep the others from being written.
func (r *Reconciler) carryOut(ctx context.Context, plan operator.Plan, present map[string]*appsv1.DaemonSet) error {
	var errs []error
	for _, set := range plan.Apply {
		errs = append(errs, r.apply(ctx, set))
	}
	for _, name := range plan.Delete {
		errs = append(errs, r.remove(ctx, present[name]))
	}
	return errors.Join(errs...)
}

// present are the DaemonSets of a ClusterOperator by their names.
func (r *Reconciler) present(ctx context.Context, o *v1alpha1.ClusterOperator) (map[string]*appsv1.DaemonSet, error) {
	var list appsv1.DaemonSetList
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace)); err != nil {
		return nil, fmt.Errorf("list the DaemonSets: %w", err)
	}
	present := map[string]*appsv1.DaemonSet{}
	for i := range list.Items {
		if set := &list.Items[i]; metav1.IsControlledBy(set, o) {
			present[set.Name] = set
		}
	}
	return present, nil
}

// nodes returns what the labels of the nodes say.
func (r *Reconciler) nodes(ctx context.Context) (operator.Nodes, error) {
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := r.Client.List(ctx, &list); err != nil {
		return operator.Nodes{}, fmt.Errorf("list the Nodes: %w", err)
	}
	labels := map[string]map[string]string{}
	for _, n := range list.Items {
		labels[n.Name] = n.Labels
	}
	return operator.Count(labels), nil
}

// apply makes a DaemonSet what it is wished to be.
func (r *Reconciler) apply(ctx context.Context, set *appsv1.DaemonSet) error {
	object := &unstructured.Unstructured{Object: operator.Fields(set)}
	err := r.Client.Patch(ctx, object, client.Apply, client.FieldOwner(protocol.Operator), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply DaemonSet %s: %w", set.Name, err)
	}
	r.Log.Info("applied", "daemonset", set.Name)
	return nil
}

// remove deletes a DaemonSet. Its object stays until its pods are gone.
func (r *Reconciler) remove(ctx context.Context, set *appsv1.DaemonSet) error {
	if !set.DeletionTimestamp.IsZero() {
		return nil
	}
	err := r.Client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationForeground), client.Preconditions{UID: &set.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete DaemonSet %s: %w", set.Name, err)
	}
	r.Log.Info("deleted", "daemonset", set.Name)
	return nil
}

// end removes what a deleted ClusterOperator deployed, and then lets it go.
func (r *Reconciler) end(ctx context.Context, o *v1alpha1.ClusterOperator, present map[string]*appsv1.DaemonSet) error {
	for _, set := range present {
		if err := r.remove(ctx, set); err != nil {
			return err
		}
	}
	if len(present) > 0 {
		return nil // the end of each is an event
	}
	return r.finalizer(ctx, o, controllerutil.RemoveFinalizer)
}

// finalizer adds or removes the finalizer, if it is not as it should be.
func (r *Reconciler) finalizer(ctx context.Context, o *v1alpha1.ClusterOperator, change func(client.Object, string) bool) error {
	before := o.DeepCopy()
	if !change(o, v1alpha1.Finalizer) {
		return nil
	}
	err := r.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the finalizer of ClusterOperator %s: %w", o.Name, err)
	}
	return nil
}

// status writes the status if it changed.
func (r *Reconciler) status(ctx context.Context, o *v1alpha1.ClusterOperator, status v1alpha1.ClusterOperatorStatus) error {
	now := metav1.NewTime(r.Now())
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = now
		}
	}
	if equality.Semantic.DeepEqual(o.Status, status) {
		return nil
	}
	before := o.DeepCopy()
	o.Status = status
	if err := r.Client.Status().Patch(ctx, o, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of ClusterOperator %s: %w", o.Name, err)
	}
	return nil
}
