// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/hook"
)

// runSpecHooks runs the CDI spec's createContainer hooks: it starts metax-hook as a child
// of the calling thread, which is already in the container's mount namespace. It prints the
// child's warnings; the last line of a failed child is the error.
func (j *job) runSpecHooks(state *hook.State, args []string) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	in, stateWriter, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer in.Close()
	outputReader, out, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("make pipe: %w", err), stateWriter.Close())
	}
	defer outputReader.Close()
	child, err := os.StartProcess("/proc/self/exe", append([]string{"metax-hook"}, args...), &os.ProcAttr{
		Env: []string{}, Files: []*os.File{in, out, out}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	out.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("start the hooks of the CDI spec: %w", err), stateWriter.Close())
	}
	go func() {
		_, _ = stateWriter.Write(text) // a child that cannot read it fails
		stateWriter.Close()
	}()
	const maxOutput = 1 << 16 // bytes; the child prints a line or two
	output, err := io.ReadAll(io.LimitReader(outputReader, maxOutput))
	_, _ = io.Copy(io.Discard, outputReader) // so that a child that prints more does not block
	ended, werr := child.Wait()
	if err := errors.Join(err, werr); err != nil {
		return fmt.Errorf("run the hooks of the CDI spec: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if last := len(lines) - 1; !ended.Success() {
		err = fmt.Errorf("%w: %s", errHooks, cmp.Or(strings.TrimPrefix(lines[last], "metax-hook: "), ended.String()))
		lines = lines[:last]
	}
	for _, line := range lines {
		if line != "" {
			j.printMessage(strings.TrimPrefix(line, "metax-hook: "))
		}
	}
	return err
}

// errHooks reports that a hook of the CDI spec failed; the reason follows it.
var errHooks = errors.New("a hook of the CDI spec failed")
