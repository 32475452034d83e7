// Package containerd sees the containers that containerd runs, in all of its
// namespaces: those of Kubernetes, of nerdctl and ctr, and docker's own.
//
// It reads two things: the records of the containers, which carry the OCI bundle
// and so the GPUs, and, for the containers with GPUs, the tasks that run them. It
// asks for each of those tasks alone: a list would wait for every shim on the
// machine in turn, and pass over the tasks of a shim that is in trouble.
//
// It changes nothing in containerd, decides nothing about who holds what, and
// knows of no lease but by its label.
package containerd
