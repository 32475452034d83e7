// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the resource ClusterOperator, by which metax-operator is told what a
// cluster with MetaX GPUs runs. Names and shape are those of the vendor's operator; fields
// that this version does not know are kept.
//
// +kubebuilder:object:generate=true
// +groupName=gpu.metax-tech.com
package v1alpha1
