// Command become is the least that a shim in Go can be: a static program that becomes the one
// that it is told to.
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
