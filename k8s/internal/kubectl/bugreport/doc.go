// SPDX-License-Identifier: Apache-2.0

// Package bugreport writes the objects of a cluster that say what its GPUs do as a text that
// people can read and send: a list of Kubernetes objects, which kubectl-metax reads again.
//
// A report has only the fields that kubectl-metax reads. The names of Nodes, pods, containers,
// namespaces and images, UUIDs and addresses are replaced by stand-ins, the same name by the
// same stand-in. The package is pure.
package bugreport
