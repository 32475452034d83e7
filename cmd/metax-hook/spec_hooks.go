package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/hook"
)

// runSpecHooks runs this program as a child of the calling thread, which is in the
// container's mount namespace, as a runtime does with hooks of the stage
// createContainer. This process prints what the child printed.
func (j *job) runSpecHooks(state *hook.State, args []string) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	in, to, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer in.Close()
	from, out, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("make pipe: %w", err), to.Close())
	}
	defer from.Close()
	child, err := os.StartProcess("/proc/self/exe", append([]string{"metax-hook"}, args...), &os.ProcAttr{
		Env: []string{}, Files: []*os.File{in, out, out}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	out.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("start the hooks of the CDI spec: %w", err), to.Close())
	}
	go func() {
		_, _ = to.Write(text) // a child that cannot read it fails
		to.Close()
	}()
	const most = 1 << 16 // bytes; the child prints a line or two
	said, err := io.ReadAll(io.LimitReader(from, most))
	_, _ = io.Copy(io.Discard, from) // so that a child that prints more does not block
	ended, werr := child.Wait()
	if err := errors.Join(err, werr); err != nil {
		return fmt.Errorf("run the hooks of the CDI spec: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	last := strings.TrimPrefix(lines[len(lines)-1], "metax-hook: ")
	if !ended.Success() {
		lines = lines[:len(lines)-1]
	}
	for _, line := range lines {
		if line != "" {
			j.print(strings.TrimPrefix(line, "metax-hook: "))
		}
	}
	if !ended.Success() {
		return fmt.Errorf("%s: %w", last, errHooks)
	}
	return nil
}

// errHooks reports that a hook of the CDI spec failed; the text before it is the
// reason.
var errHooks = errors.New("a hook of the CDI spec failed")
