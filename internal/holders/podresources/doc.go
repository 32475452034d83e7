// SPDX-License-Identifier: Apache-2.0

// Package podresources asks the kubelet which devices the containers of its pods have.
//
// The kubelet serves the PodResourcesLister v1 on a socket of its own. List is one call of
// it, with one small message as its answer, so the package reads that message itself and
// needs no library of Kubernetes.
//
// The answer lacks init containers that end before the others start, and a container for
// which the kubelet is just asking a device plugin: a device that List does not name is not
// proven to be free.
package podresources
