// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// trustsCommandLine reports whether the command line of a process is trusted: the process is
// root's or our own, or its user may take leases anyway.
func (p *Proc) trustsCommandLine(s status) bool {
	return s.uid == 0 || s.uid == uint32(os.Getuid()) ||
		(p.group >= 0 && slices.Contains(s.groups, uint32(p.group)))
}

// enginePrograms returns the file names of an engine's program, by the kernel's short
// name for it; nil for other programs. Engines open no GPU themselves. A shim of another
// runtime is not among them: it may be the virtual machine that has the GPUs.
func enginePrograms(command string) []string {
	switch command {
	case monitorName, "dockerd", "containerd":
		return []string{command}
	case shimName:
		return []string{shimName, shimName + "-runc-v1", shimName + "-runc-v2"}
	}
	return nil
}

// isEngine reports whether a process is an engine's, so that its files need no look:
// they are most of what is open on a host with many containers, and never a GPU.
// mounts is our own mount namespace, empty if it is not known.
//
// A process chooses its own name. The name counts only for a process of root, in our
// own mount namespace, that runs a program of that name. A user's process has the wrong
// owner, root in a container (also with the host's pids) the wrong namespace, and a
// daemon that calls itself so, or a setuid program behind a link of that name, the wrong
// program. Root in our namespace can change the leases anyway. A user who may not read
// all this may not read the files either, and is refused there.
func (w *worker) isEngine(name, command, mounts string) bool {
	programs := enginePrograms(command)
	if mounts == "" || programs == nil {
		return false
	}
	// The directory belongs to the process's effective user even if the process hides its
	// memory; the files in it then belong to root.
	var st unix.Stat_t
	if unix.Fstatat(w.dir, name, &st, 0) != nil || st.Uid != 0 {
		return false
	}
	if n, err := unix.Readlinkat(w.dir, name+"/ns/mnt", w.link[:]); err != nil || string(w.link[:n]) != mounts {
		return false
	}
	n, err := unix.Readlinkat(w.dir, name+"/exe", w.link[:])
	if err != nil {
		return false
	}
	// After an upgrade the program is another file.
	program := filepath.Base(string(bytes.TrimSuffix(w.link[:n], []byte(deleted))))
	return slices.Contains(programs, program)
}
