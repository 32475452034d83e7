// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/ldcache"
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
)

// updateLdcache makes the container's dynamic linker find the libraries in the given
// folders: --folder DIR. If the container or the host does not allow that, or the
// container's files are read-only, it warns and the container starts anyway.
var updateLdcache = action{
	options: []string{"folder"},
	capabilities: []privilege.Capability{
		unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH,
	},
	run: func(j *job, options map[string][]string) error {
		root, err := j.containerRoot()
		if err != nil {
			return err
		}
		err = ldcache.Update(root, options["folder"], execute, j.addWarning)
		for _, skip := range []error{ldcache.ErrNoLoader, ldcache.ErrNoLdconfig, unix.EROFS} {
			if errors.Is(err, skip) {
				j.addWarning("update-ldcache skipped: " + err.Error())
				return nil
			}
		}
		return err
	},
}

// errTimeout reports a program that was killed because it did not end in time.
var errTimeout = errors.New("killed: did not finish")

// execute runs a program as a child of the calling thread, which the caller has locked
// (runtime.LockOSThread). The child dies with the thread.
func execute(p ldcache.Program) error {
	out := p.Output.Fd()
	pid, err := syscall.ForkExec(p.Path, p.Args, &syscall.ProcAttr{
		Env: []string{}, Files: []uintptr{out, out, out},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Path, err)
	}
	killed := make(chan struct{})
	deadline := time.AfterFunc(p.Timeout, func() {
		_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		close(killed)
	})
	// First wait without reaping: as long as the child is not reaped, its pid is not
	// given to another process.
	for {
		err = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	inTime := deadline.Stop()
	if !inTime {
		<-killed
	}
	var status syscall.WaitStatus
	if err == nil {
		_, err = syscall.Wait4(pid, &status, 0, nil)
	}
	switch {
	case err != nil:
		return fmt.Errorf("wait for %s: %w", p.Path, err)
	case !inTime:
		return fmt.Errorf("%w within %v", errTimeout, p.Timeout)
	case status.Signaled():
		return fmt.Errorf("%s was killed by signal %d", p.Args[0], status.Signal())
	case status.ExitStatus() != 0:
		return fmt.Errorf("%s ended with exit status %d", p.Args[0], status.ExitStatus())
	}
	return nil
}
