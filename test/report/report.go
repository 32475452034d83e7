// SPDX-License-Identifier: Apache-2.0

// Package report is the probe's report about its container and where it is written: the
// contract between the probe and the tests.
package report

import "errors"

// The probe writes into a directory of the machine that is mounted at Dir. Its standard
// output would be the engine's to carry, and a loaded Docker loses that of a process that
// ends at once: when a container ends, dockerd gives up those of its FIFOs that it has not
// opened yet ("copy stream failed: reading from a closed fifo", says its log). docker run
// and docker logs then have nothing, and the exit code is the program's.
const (
	Dir = "/report"
	// Stdout and Stderr are the files with the output of a program that a probe has
	// executed.
	Stdout = "stdout"
	Stderr = "stderr"
	// Look is the file with a Report as JSON.
	Look = "look.json"
	// Waiting is the file that appears once a probe waits for SIGTERM.
	Waiting = "waiting"
	// Held, with the probe's name after it, is the file that lists the GPUs that a
	// probe found; Violation, with more, one that reports which GPU has another owner.
	Held      = "held-"
	Violation = "violation-"
	// Lock, with a GPU's card after it, is the file that whoever has it locks.
	Lock = "lock-"
)

// Report is one report of the probe.
type Report struct {
	UID    int   `json:"uid"`
	Groups []int `json:"groups"`
	// Nodes are the character devices below /dev, pseudo terminals aside, sorted by path.
	Nodes []Node `json:"nodes"`
	// Made are the nodes that the probe was asked to make, in that order.
	Made []Node `json:"made"`
	// Driver are the files of /opt/mxdriver/bin.
	Driver []string `json:"driver"`
	// DriverWrite is the errno name of creating a file in /opt/mxdriver: EROFS where it is
	// mounted read-only, empty where it worked.
	DriverWrite string `json:"driverWrite"`
	// Env is the environment, sorted.
	Env []string `json:"env"`
	// Mounts are the mounts below /opt, sorted by path.
	Mounts []Mount `json:"mounts"`
	// Cache are the libraries below /opt and /usr/lib that the dynamic linker's cache
	// names, sorted; none where there is no cache.
	Cache []string `json:"cache"`
	// Loads is the file that the dynamic linker loads for the library Wanted, empty where
	// it finds none or where there is no dynamic linker.
	Loads string `json:"loads"`
	// SMI is the file that the name mx-smi leads to, empty where PATH has none.
	SMI string `json:"smi"`
	// Links are the links in /opt, such as "/opt/maca → /opt/maca-3".
	Links []string `json:"links"`
}

// Wanted is a library of MXMACA that needs others of it.
const Wanted = "libmccl.so"

// Linker is the dynamic linker of an image that has one, and CLibrary something for it to
// link.
const (
	Linker   = "/lib64/ld-linux-x86-64.so.2"
	CLibrary = "/lib/x86_64-linux-gnu/libc.so.6"
)

// Mount is one mount of the container.
type Mount struct {
	Path string `json:"path"`
	// Options are the options of the mount: ro or rw, nosuid, nodev.
	Options []string `json:"options"`
}

// Node is one character device and what became of opening it.
type Node struct {
	Path  string `json:"path"`
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
	// Mode are the permission bits, in octal, and Owner is "UID:GID".
	Mode  string `json:"mode,omitempty"`
	Owner string `json:"owner,omitempty"`
	// Mknod is the errno name of making the node, empty where it worked.
	Mknod string `json:"mknod,omitempty"`
	// Open is the errno name of opening it for reading and writing, empty where it worked.
	Open string `json:"open,omitempty"`
}

// Verdict tells a device rule from everything else. The device cgroup answers before the
// driver is asked: a node without a driver says ENXIO where it is allowed, and EPERM where
// it is not. EACCES is the mode of the node.
func (n Node) Verdict() error {
	switch {
	case n.Mknod != "":
		return errors.New("mknod: " + n.Mknod)
	case n.Open == "EPERM", n.Open == "EACCES":
		return errors.New("open: " + n.Open)
	}
	return nil
}

// TermCode is the exit code of a probe that waits and is told to end: no shell, engine or
// kernel answers SIGTERM with it.
const TermCode = 77
