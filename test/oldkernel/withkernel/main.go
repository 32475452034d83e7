// SPDX-License-Identifier: Apache-2.0

// Command withkernel becomes another program, which finds a kernel of oldkernel:
// withkernel KERNEL PROGRAM [ARGUMENT…].
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/metax-ctk/container-toolkit/test/oldkernel"
)

func main() {
	if err := become(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "withkernel:", err)
		os.Exit(1)
	}
}

func become(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: withkernel KERNEL PROGRAM [ARGUMENT…]")
	}
	program, err := exec.LookPath(args[1])
	if err != nil {
		return err
	}
	if err := oldkernel.Enter(args[0]); err != nil {
		return err
	}
	return syscall.Exec(program, args[1:], os.Environ())
}
