// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

const peakRounds = 10

// peak is the peak memory of a program and its children, the greatest of them. The
// kernel reports at least the peak of the process that started the program, and this
// process is large; so a small one starts it.
func peak(prepare func() error, input []byte, argv ...string) (figure.Summary, error) {
	var values []float64
	for range peakRounds {
		if err := prepare(); err != nil {
			return figure.Summary{}, err
		}
		cmd := exec.Command("/proc/self/exe", append([]string{"peak"}, argv...)...)
		cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return figure.Summary{}, fmt.Errorf("take the peak memory of %q: %w", argv, err)
		}
		bytes, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil {
			return figure.Summary{}, err
		}
		values = append(values, bytes)
	}
	return figure.Summarise(figure.Bytes, values), nil
}

// takePeak is what the fresh process does.
func takePeak(argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	var children syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children); err != nil {
		return err
	}
	_, err := fmt.Println(children.Maxrss << 10)
	return err
}
