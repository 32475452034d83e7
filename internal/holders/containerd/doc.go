// SPDX-License-Identifier: Apache-2.0

// Package containerd looks at the containers of a containerd, in all of its namespaces:
// those of Kubernetes, of nerdctl and ctr, and docker's.
//
// It reads the records of the containers, which have the OCI bundle and so the GPUs, and
// the tasks of containers with GPUs. It asks for each of these tasks separately: a list of
// all would wait for every shim of the machine in turn, and omit the tasks of a shim that
// does not answer.
//
// It changes nothing in containerd, and knows leases only by their label.
package containerd
