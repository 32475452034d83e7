// SPDX-License-Identifier: Apache-2.0

// Package cluster starts a real Kubernetes cluster of one node in a sandbox: etcd, the API
// server, the controller manager, the scheduler, kube-proxy, the kubelet and containerd 2,
// beside a simulated node with GPUs at NodeDir and a registry that serves the tests' images.
// Clusters share nothing with the machine or with each other, and end with their caller.
//
// It knows nothing of the programs under test.
package cluster
