// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// leasedName is the kernel's short name of a process that has a lease and is about to
// become the client of an engine.
const leasedName = "metax-leased"

// MarkLeased gives our own process that name, by which a look for clients waits for it:
// until the client runs, only the state file records the lease. The name ends with execve,
// in which the thread that calls it replaces the first: both have the name, and the caller
// stays on its thread. Where /proc cannot be written, no look waits.
func MarkLeased() {
	runtime.LockOSThread()
	for _, name := range []string{"/proc/thread-self/comm", "/proc/self/comm"} {
		if os.WriteFile(name, []byte(leasedName), 0) != nil {
			return
		}
	}
}

// commandLine returns the command line of a process, its words ended by NUL. Where leases
// are lost, it waits for a process that is about to become a client.
func (w *worker) commandLine(s *process, q usage.Question) ([]byte, error) {
	for {
		text, err := readAt(w.dir, s.name+"/cmdline", w.cmdline)
		if err != nil || !q.Lost || !w.becomes(s, len(text) == 0) {
			return text, err
		}
		select {
		case <-w.ctx.Done():
			s.becomes = true
			return nil, w.ctx.Err()
		case <-time.After(time.Millisecond):
		}
		w.progress.Add(1)
		name, err := readAt(w.dir, s.name+"/comm", w.text[:])
		if err != nil {
			return nil, err
		}
		s.command = strings.TrimSuffix(string(name), "\n")
	}
}

// becomes reports whether the process is about to become another program: it has the name,
// or it is in the middle of execve, where its command line is empty. It may have ended
// then without an end of the name.
func (w *worker) becomes(s *process, empty bool) bool {
	if s.command != leasedName && !empty {
		return false
	}
	stat, ok := w.readStat(s.name)
	switch {
	case !ok:
		return false
	case s.command == leasedName:
		return !stat.ended() || stat.threads > 1 // in execve the first thread ends before the others
	}
	return stat.flags&kernelThread == 0 && (stat.state == 'R' || stat.state == 'D')
}
