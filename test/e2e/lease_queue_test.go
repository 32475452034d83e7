// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// stopped asserts that a request whose client is stopped is passed by others, and that one
// that waits can be ended.
func (l leasing) stopped(t *testing.T) {
	l.detach(t, "--gpus=all", "--name=first")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	argv := l.runArgs([]string{"--gpus=8", "--gpus-wait=2m"}, "exit", "0")
	head := l.Command(ctx, l.env(), "metax-docker", argv...)
	var said strings.Builder
	head.Stderr = &said
	if err := head.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, func() (bool, string) { return len(l.ps(t).Queue) == 1, "the first request is not in the queue" })
	pid, err := sandbox.Inner(ctx, head)
	if err != nil {
		t.Fatal(err)
	}
	signal := func(pid int, s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	// nsenter stops itself when it sees that its child is stopped, and makes the child go on
	// when it goes on itself. Until it has stopped, a SIGCONT would come too early.
	signal(pid, syscall.SIGSTOP)
	until(t, func() (bool, string) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", head.Process.Pid))
		return err == nil && strings.Contains(string(stat), ") T "), "nsenter does not stop with its child"
	})
	second := make(chan result, 1)
	go func() {
		r, err := l.try(ctx, l.env(), append([]string{"metax-docker"}, l.runArgs([]string{"--gpus=1", "--gpus-wait=2m"}, "exit", "0")...)...)
		if err != nil {
			t.Error(err)
		}
		second <- r
	}()
	until(t, func() (bool, string) { return len(l.ps(t).Queue) == 2, "the second request is not in the queue" })
	l.must(t, nil, "docker", "rm", "--force", "first")
	if r := <-second; r.code != 0 {
		t.Errorf("the second request was not served: %v", r)
	}
	queue := l.ps(t).Queue
	if len(queue) != 1 || queue[0].State != "silent" {
		t.Fatalf("the queue is %+v, want the request that is stopped", queue)
	}
	l.must(t, l.env(), "metax-ctk", "lease", "release", queue[0].ID)
	signal(head.Process.Pid, syscall.SIGCONT)
	var exit *exec.ExitError
	if err := head.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 125 {
		t.Errorf("the first request ended with %v, want exit code 125", err)
	}
	if want := "request " + queue[0].ID + " was ended by root (metax-ctk lease release)"; !strings.Contains(said.String(), want) {
		t.Errorf("the first request says %q, want %q", said.String(), want)
	}
	if queue := l.ps(t).Queue; len(queue) > 0 {
		t.Errorf("the queue is %+v", queue)
	}
}
