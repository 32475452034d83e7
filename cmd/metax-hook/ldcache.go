package main

import (
	"errors"
	"fmt"
	"os"
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
		root, err := j.root()
		if err != nil {
			return err
		}
		err = ldcache.Update(root, options["folder"], execute, j.warn)
		for _, skip := range []error{ldcache.ErrNoLoader, ldcache.ErrNoLdconfig, ldcache.ErrOldKernel, unix.EROFS} {
			if errors.Is(err, skip) {
				j.warn("update-ldcache skipped: " + err.Error())
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
	pidfd := -1
	pid, err := syscall.ForkExec(p.Path, p.Args, &syscall.ProcAttr{
		Env: []string{}, Files: []uintptr{out, out, out},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, PidFD: &pidfd},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Path, err)
	}
	handle := os.NewFile(uintptr(pidfd), "pidfd") // nil if the kernel gave none
	defer handle.Close()
	deadline := time.AfterFunc(p.Timeout, func() {
		// Signal the pidfd: the pid may have been reused.
		_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0) // it may have ended
	})
	var status syscall.WaitStatus
	for {
		_, err = syscall.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	inTime := deadline.Stop()
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
