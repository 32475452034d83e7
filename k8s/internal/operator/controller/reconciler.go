// SPDX-License-Identifier: Apache-2.0

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
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/plan"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Reconciler makes the cluster what the ClusterOperator says. It needs, in all namespaces, the
// verbs get, list, watch and patch on clusteroperators, patch on clusteroperators/status, and
// list, watch and patch on nodes; in its namespace list, watch, create, patch and delete on
// daemonsets, and list, watch, create and delete on pods.
type Reconciler struct {
	Client    client.Client
	Manifests plan.Manifests
	Namespace string
	Log       *slog.Logger
	Now       func() time.Time
	// Upgrader upgrades drivers, or only puts nodes back into service.
	Upgrader *Upgrader
	// Faults taints nodes with lost GPUs, or only removes its taints.
	Faults *Faults
	// ConfigMaps are the names of the ConfigMaps that are read, with their namespaces, and
	// Configs reads each of them. They need list and watch on it.
	ConfigMaps map[string]string
	Configs    map[string]client.Reader

	conditions conditions // as they were decided last
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
		r.conditions.set(nil)
		return reconcile.Result{}, r.end(ctx, o, present)
	}
	if err := r.finalizer(ctx, o, controllerutil.AddFinalizer); err != nil {
		return reconcile.Result{}, err
	}
	nodes, err := r.nodes(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	configs, err := r.configs(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	rendered, invalid := r.Manifests.Render(o.Spec)
	in := plan.Input{
		Operator: o, Nodes: nodes, Rendered: rendered, Invalid: invalid, Present: present,
		Upgrades: r.Upgrader.Upgrades, Configs: configs,
	}
	var looks corev1.PodList
	if err := r.Client.List(ctx, &looks, client.InNamespace(r.Namespace),
		client.MatchingLabels{"app.kubernetes.io/name": protocol.Look}); err != nil {
		return reconcile.Result{}, fmt.Errorf("list the pods that look at GPUs: %w", err)
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("list the pods of the components: %w", err)
	}
	in.Stuck = plan.Stuck(pods.Items)
	in.Looks = plan.DecideLooks(in, pointers(looks.Items), r.Now())
	decided := plan.Decide(in)
	if err = errors.Join(r.carryOut(ctx, decided, present), r.look(ctx, in.Looks)); err != nil {
		decided.Fail(o, err)
	}
	r.conditions.set(decided.Status.Conditions)
	return reconcile.Result{RequeueAfter: in.Looks.Again}, errors.Join(err, r.status(ctx, o, decided.Status))
}

func pointers(pods []corev1.Pod) []*corev1.Pod {
	list := make([]*corev1.Pod, len(pods))
	for i := range pods {
		list[i] = &pods[i]
	}
	return list
}

// look starts and ends the pods that look at GPUs.
func (r *Reconciler) look(ctx context.Context, looks plan.Looks) error {
	var errs []error
	for _, pod := range looks.Create {
		if err := r.Client.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
			errs = append(errs, fmt.Errorf("create pod %s: %w", pod.Name, err))
		}
	}
	for _, name := range looks.Delete {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.Namespace}}
		if err := r.Client.Delete(ctx, pod); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("delete pod %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// carryOut writes what a plan says. One DaemonSet that fails does not keep the others from
// being written.
func (r *Reconciler) carryOut(ctx context.Context, p plan.Plan, present map[string]*appsv1.DaemonSet) error {
	var errs []error
	for _, set := range p.Apply {
		errs = append(errs, r.apply(ctx, set))
	}
	for _, name := range p.Delete {
		errs = append(errs, r.remove(ctx, present[name]))
	}
	for _, name := range p.Open {
		errs = append(errs, r.letIn(ctx, name, map[string]any{protocol.LabelRuntime: "true"}))
	}
	for _, name := range p.Shut {
		errs = append(errs, r.letIn(ctx, name, nil))
	}
	return errors.Join(errs...)
}

// letIn makes the labels of a Node by which metax-container-runtime is let on to it.
func (r *Reconciler) letIn(ctx context.Context, name string, labels map[string]any) error {
	metadata := map[string]any{"name": name}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": metadata}}
	err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
		client.FieldOwner(protocol.Runtime), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply the label %s of Node %s: %w", protocol.LabelRuntime, name, err)
	}
	r.Log.Info("applied", "node", name, "label", protocol.LabelRuntime, "set", len(labels) > 0)
	return nil
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

// nodes returns what labels, annotations and conditions of the nodes say.
func (r *Reconciler) nodes(ctx context.Context) (plan.Nodes, error) {
	var list corev1.NodeList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return plan.Nodes{}, fmt.Errorf("list the Nodes: %w", err)
	}
	return plan.Count(list.Items), nil
}

// configs returns the data of the ConfigMaps by their names.
func (r *Reconciler) configs(ctx context.Context) (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	for name, reader := range r.Configs {
		var c corev1.ConfigMap
		err := reader.Get(ctx, client.ObjectKey{Namespace: r.ConfigMaps[name], Name: name}, &c)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read ConfigMap %s: %w", name, err)
		}
		all[name] = c.Data
	}
	return all, nil
}

// apply makes a DaemonSet what it is requested to be.
func (r *Reconciler) apply(ctx context.Context, set *appsv1.DaemonSet) error {
	object := &unstructured.Unstructured{Object: plan.Fields(set)}
	err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
		client.FieldOwner(protocol.Operator), client.ForceOwnership)
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
	err := r.Client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationForeground),
		client.Preconditions{UID: &set.UID})
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
	// Before the pods have ended: one on a node that is away does not.
	for _, release := range []func(context.Context) (bool, error){r.Upgrader.Release, r.Faults.Release} {
		if done, err := release(ctx); err != nil || !done {
			return err // a Node that changed is an event
		}
	}
	if len(present) > 0 {
		return nil // the end of each is an event
	}
	return r.finalizer(ctx, o, controllerutil.RemoveFinalizer)
}

// finalizer adds or removes the finalizer, if it is not as it should be.
func (r *Reconciler) finalizer(ctx context.Context, o *v1alpha1.ClusterOperator,
	change func(client.Object, string) bool,
) error {
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
func (r *Reconciler) status(ctx context.Context, o *v1alpha1.ClusterOperator,
	status v1alpha1.ClusterOperatorStatus,
) error {
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
