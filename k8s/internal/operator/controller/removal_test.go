// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
)

// TestLease: the Lease goes, and it is no error that it is gone.
func TestLease(t *testing.T) {
	lease := func(namespace string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"namespace": namespace, "name": "metax-operator"},
		}}
	}
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), lease("a"), lease("b"))
	for range 2 {
		if err := (Removal{Client: client}).Lease(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
	if _, err := client.Resource(leases).Namespace("a").Get(t.Context(), "metax-operator", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease is still there: %v", err)
	}
	if _, err := client.Resource(leases).Namespace("b").Get(t.Context(), "metax-operator", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
