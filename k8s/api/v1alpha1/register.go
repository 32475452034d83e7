// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Name is the name of the only ClusterOperator.
	Name = "cluster-operator"
	// Finalizer keeps a deleted ClusterOperator until what it deployed is gone.
	Finalizer = "gpu.metax-tech.com"
	// CRD is the name of the definition of ClusterOperator.
	CRD = "clusteroperators.gpu.metax-tech.com"
)

// GroupVersion is that of ClusterOperator.
var GroupVersion = schema.GroupVersion{Group: "gpu.metax-tech.com", Version: "v1alpha1"}

// Resource is ClusterOperator for clients without types.
var Resource = GroupVersion.WithResource("clusteroperators")

// AddToScheme adds ClusterOperator to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &ClusterOperator{}, &ClusterOperatorList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
