// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Removal ends the ClusterOperator, the definition of the resource and the Lease, for the
// hooks of the chart.
type Removal struct {
	Client dynamic.Interface
	Log    *slog.Logger
}

var (
	definitions = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions",
	}
	leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// Object deletes the ClusterOperator and waits for its end. If the controller does not let it
// go within the grace, it is gone or stuck, and Object lets it go: what it deployed then ends
// as its dependents. It needs get, delete and patch on the ClusterOperator.
func (r Removal) Object(ctx context.Context, grace time.Duration) error {
	objects := r.Client.Resource(v1alpha1.Resource)
	err := objects.Delete(ctx, v1alpha1.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete ClusterOperator %s: %w", v1alpha1.Name, err)
	}
	for deadline := time.Now().Add(grace); ; {
		object, err := objects.Get(ctx, v1alpha1.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			r.Log.Info("the ClusterOperator has ended")
			return nil
		case err != nil:
			return fmt.Errorf("read ClusterOperator %s: %w", v1alpha1.Name, err)
		case time.Now().After(deadline):
			r.Log.Warn("the controller did not let the ClusterOperator go; it goes without", "grace", grace.String())
			return r.release(ctx, object)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of ClusterOperator %s: %w", v1alpha1.Name, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// release removes the operator's finalizer. Those of others stay.
func (r Removal) release(ctx context.Context, object *unstructured.Unstructured) error {
	rest := slices.DeleteFunc(object.GetFinalizers(), func(name string) bool { return name == v1alpha1.Finalizer })
	patch, err := yaml.Marshal(
		map[string]any{"metadata": map[string]any{"finalizers": rest, "resourceVersion": object.GetResourceVersion()}})
	if err == nil {
		patch, err = yaml.YAMLToJSON(patch)
	}
	if err == nil {
		_, err = r.Client.Resource(v1alpha1.Resource).Patch(ctx, object.GetName(), types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: protocol.Operator})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("release ClusterOperator %s: %w", object.GetName(), err)
	}
	return nil
}

// Define makes the definition of the resource that of this version. It needs patch on it.
func (r Removal) Define(ctx context.Context, definition []byte) error {
	text, err := yaml.YAMLToJSON(definition)
	if err == nil {
		force := true
		_, err = r.Client.Resource(definitions).Patch(ctx, v1alpha1.CRD, types.ApplyPatchType, text,
			metav1.PatchOptions{FieldManager: protocol.Operator, Force: &force})
	}
	if err != nil {
		return fmt.Errorf("apply the definition %s: %w", v1alpha1.CRD, err)
	}
	r.Log.Info("applied", "definition", v1alpha1.CRD)
	return nil
}

// Undefine deletes the definition of the resource, unless an object is left. It needs list on
// clusteroperators and delete on the definition.
func (r Removal) Undefine(ctx context.Context) error {
	list, err := r.Client.Resource(v1alpha1.Resource).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("list the ClusterOperators: %w", err)
	case len(list.Items) > 0:
		r.Log.Warn("the definition stays: an object uses it", "definition", v1alpha1.CRD, "object", list.Items[0].GetName())
		return nil
	}
	err = r.Client.Resource(definitions).Delete(ctx, v1alpha1.CRD, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the definition %s: %w", v1alpha1.CRD, err)
	}
	r.Log.Info("deleted", "definition", v1alpha1.CRD)
	return nil
}

// Lease deletes the Lease of the controllers of a namespace, for whose end the next one would
// wait. It needs delete on it.
func (r Removal) Lease(ctx context.Context, namespace string) error {
	err := r.Client.Resource(leases).Namespace(namespace).Delete(ctx, protocol.Operator, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the Lease %s: %w", protocol.Operator, err)
	}
	return nil
}
