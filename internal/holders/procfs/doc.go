// SPDX-License-Identifier: Apache-2.0

// Package procfs reads /proc: the processes that have device files of GPUs open, the
// containers of the engines without a daemon (Podman, CRI-O), the clients that leases
// belong to, and the tasks of every containerd.
//
// What a process has open comes from the kernel and counts for every process. Command
// lines, names and paths come from the user who started the process: they count only for
// users who may take leases anyway (trust.go).
//
// One scan of /proc serves several sources, in two passes: it lists the processes (list.go),
// and then reads their open files (descriptors.go). The package reads only, but for the name
// of our own process (leased.go). It has to be quick, as every start of a container waits for
// it.
package procfs
