// SPDX-License-Identifier: Apache-2.0

// Command metax-sim-smi is the mx-smi of simulated nodes: "metax-ctk sim create" copies it
// into the host tree. It is a program and no script because a simulated node is also looked at
// from images without a shell.
package main

import (
	"fmt"
	"os"

	"github.com/metax-ctk/container-toolkit/internal/sim/smi"
)

func main() {
	program, err := os.Executable()
	var said string
	if err == nil {
		said, err = smi.Run(program, os.Args[1:])
	}
	_, written := os.Stdout.WriteString(said)
	if err == nil {
		err = written
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "mx-smi: %v\n", err)
		os.Exit(1)
	}
}
