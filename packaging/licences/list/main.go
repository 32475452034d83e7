// SPDX-License-Identifier: Apache-2.0

// Command list writes the licences of what is linked into programs to the standard output.
package main

import (
	"fmt"
	"os"

	"github.com/metax-ctk/container-toolkit/packaging/licences"
)

func main() {
	text, err := licences.Text(os.Args[1:]...)
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}
