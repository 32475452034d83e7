// SPDX-License-Identifier: Apache-2.0

// Command become is the minimal shim in Go: a static program that executes the program
// named on its command line.
package main

import (
	"os"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && syscall.Exec(os.Args[1], os.Args[1:], os.Environ()) != nil {
		os.Exit(1)
	}
}
