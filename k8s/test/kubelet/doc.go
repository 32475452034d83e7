// SPDX-License-Identifier: Apache-2.0

// Package kubelet tests the device plugin with the kubelet's own devicemanager package, in
// this process: what the kubelet asks, in which order, and what it makes of the answers.
//
// It is a module of its own because k8s.io/kubernetes needs replace directives for all its
// parts.
package kubelet
