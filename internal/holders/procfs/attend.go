package procfs

import (
	"bytes"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// attendants are the programs, by the kernel's short name for them, that serve
// containers and leave devices to them. A shim of another runtime may be the virtual
// machine itself.
func attendants(command string) []string {
	switch command {
	case monitorName, "dockerd", "containerd":
		return []string{command}
	case shimName:
		return []string{shimName, shimName + "-runc-v1", shimName + "-runc-v2"}
	}
	return nil
}

// attends reports whether a process serves containers, so that its files need no
// look: they are most of what is open on a host with many containers, and never a
// GPU. mounts is our own mount namespace, empty if it is not known.
//
// Its name alone is its own choice. It counts only for a process of root's, in our
// own mount namespace, that runs a program of that name: so a user has the wrong
// owner, a root in a container (also with the host's pids) the wrong namespace,
// and a daemon that calls itself so, or a setuid program behind a link of that
// name, the wrong program. Who is root where we are can change the leases anyway.
// Whoever may not see all this may not see the files either, and is refused there.
func (w *worker) attends(name, command, mounts string) bool {
	programs := attendants(command)
	if mounts == "" || programs == nil {
		return false
	}
	// Unlike what is in it, the directory belongs to the process's effective user
	// also where the process hides its memory.
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
	program := filepath.Base(string(bytes.TrimSuffix(w.link[:n], []byte(" (deleted)"))))
	return slices.Contains(programs, program)
}
