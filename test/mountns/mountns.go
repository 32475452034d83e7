// SPDX-License-Identifier: Apache-2.0

// Package mountns runs the tests of a package in a mount namespace of their own, so that a
// test can compare mount tables while tests of other packages mount.
package mountns

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// insideVar is set in the process that is in the namespace.
const insideVar = "METAX_TEST_MOUNTNS"

// Run runs the tests, a *testing.M, and returns the exit code; as root in another process,
// because threads that Go has started cannot change their namespace together.
func Run(m interface{ Run() int }) int {
	if os.Geteuid() != 0 || os.Getenv(insideVar) != "" {
		return m.Run()
	}
	runtime.LockOSThread() // the process ends with the thread that starts it
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVar+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Go makes all mounts private.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "run the tests in a mount namespace:", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}
