// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

// buildCrowd makes in the folder what cmd/inside runs in containers, and the loop in C.
func buildCrowd(dir string) error {
	for _, name := range []string{"crowd", "loop"} {
		cmd := exec.Command("gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-static",
			"-o", filepath.Join(dir, name), filepath.Join("crowd", name+".c"))
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("compile %s.c: %w\n%s", name, err, text)
		}
	}
	return nil
}

// busyLine is a line of a page's table.
func busyLine(r figure.Busy) string {
	short := func(s figure.Summary) string { return s.Unit.String(s.Median) }
	return line(strings.Join([]string{
		fmt.Sprint(r.Containers), fmt.Sprint(r.Processes), fmt.Sprint(r.Descriptors), short(r.Start), short(r.StartCPU),
		short(r.Look), short(r.Loop), fmt.Sprintf("%.2f", r.Look.Median/r.Loop.Median),
	}, " | "))
}
