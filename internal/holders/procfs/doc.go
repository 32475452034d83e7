// Package procfs tells what /proc knows of who holds GPUs: the processes that
// have device files open, the containers of engines without a daemon, the clients
// that leases belong to, the tasks of every containerd.
//
// It only reads, and it is quick, for it stands in the way of every start of a
// container. Command lines, names and paths in /proc are the words of whoever
// started the process: what they claim counts only for users who may take leases
// anyway. What a process has open is the word of the kernel and counts for
// everybody.
package procfs
