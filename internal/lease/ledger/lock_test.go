// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
)

// hold starts a process that holds the lock until release is called.
func hold(t *testing.T, dir string) (cmd *exec.Cmd, release func()) {
	t.Helper()
	cmd = child("hold", dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("child printed %q, %v", line, err)
	}
	return cmd, func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != failed {
			t.Errorf("child: %v", err)
		}
	}
}

// The error of a wait that was too long names the owner of the lock.
func TestLockHeld(t *testing.T) {
	l, dir := fresh(t)
	cmd, release := hold(t, dir)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := l.Update(ctx, func(*lease.State) error {
		t.Error("called without the lock")
		return nil
	})
	var held *ledger.LockError
	if !errors.As(err, &held) || !errors.Is(err, context.DeadlineExceeded) || held.PID != cmd.Process.Pid {
		t.Fatalf("error is %v, want a LockError of process %d", err, cmd.Process.Pid)
	}
	want := fmt.Sprintf("change leases: lock %s: process %d (%s) holds it: context deadline exceeded; wait for that process, or end it",
		filepath.Join(dir, "lock"), cmd.Process.Pid, held.Command)
	if d := cmp.Diff(want, err.Error()); d != "" || held.Command == "" {
		t.Error(d)
	}
	check(t, l, holding("a")) // reading does not wait
	release()
	update(t, l, add("b"))
	check(t, l, holding("a", "b"))
}

// LockTimeout is with one writer, not with all who come before: here the first and the
// second together have the lock for longer.
func TestLockQueue(t *testing.T) {
	const timeout = 3 * time.Second
	l, dir := fresh(t)
	l.SetLockTimeout(timeout)
	lock := filepath.Join(dir, "lock")
	// Each has the lock until it is released: how long it takes to come so far on a
	// busy machine does not count.
	start := func() (cmd *exec.Cmd, release func()) {
		t.Helper()
		cmd = exec.Command("flock", lock, "cat")
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		release = sync.OnceFunc(func() { stdin.Close() })
		t.Cleanup(func() {
			release()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
		return cmd, release
	}
	// The kernel wakes those who wait in the order in which they came, and who runs
	// first has the lock: mostly, but not always, that is the second.
	queue := func(name string) (waited time.Duration) {
		first, one := start()
		for !locked(t, lock, first.Process.Pid) {
			time.Sleep(time.Millisecond)
		}
		_, two := start()
		for !queued(t, lock) {
			time.Sleep(time.Millisecond)
		}
		begin := time.Now()
		time.AfterFunc(timeout*2/3, one)
		time.AfterFunc(timeout*4/3, two)
		update(t, l, add(name))
		return time.Since(begin)
	}
	names := []string{"a"}
	for waited := time.Duration(0); waited < timeout; {
		if len(names) > 10 {
			t.Fatalf("waited %v only, ten times, which shows nothing", waited)
		}
		names = append(names, fmt.Sprintf("b%d", len(names)-1))
		waited = queue(names[len(names)-1])
	}
	check(t, l, holding(names...))

	stuck, _ := start()
	for !locked(t, lock, stuck.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	l.SetLockTimeout(timeout / 10)
	var held *ledger.LockError
	err := l.Update(context.Background(), add("c"))
	if !errors.As(err, &held) || held.PID != stuck.Process.Pid || !strings.Contains(err.Error(), "waited 300ms: context deadline exceeded") {
		t.Errorf("error is %v, want a LockError of process %d", err, stuck.Process.Pid)
	}
}

// locked reports whether a process has the lock.
func locked(t *testing.T, lock string, pid int) bool {
	t.Helper()
	end := fmt.Sprintf(":%d 0 EOF\n", info(t, lock).Sys().(*syscall.Stat_t).Ino)
	for line := range strings.Lines(text(t, "/proc/locks")) {
		if !strings.Contains(line, "->") && strings.Contains(line, fmt.Sprintf(" %d ", pid)) && strings.HasSuffix(line, end) {
			return true
		}
	}
	return false
}

// Goroutines exclude each other as processes do, and one that waits gets on as soon as the
// lock is free.
func TestLockWaits(t *testing.T) {
	l, dir := fresh(t)
	_, release := hold(t, dir)
	errs := make(chan error)
	for i := range 3 {
		go func() { errs <- l.Update(context.Background(), add(fmt.Sprint("b", i))) }()
	}
	release()
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	check(t, l, holding("a", "b0", "b1", "b2"))
}

// A lock that was removed while somebody waited for it is not a lock: they queue up at the one
// that took its place.
func TestLockRemoved(t *testing.T) {
	l, dir := fresh(t)
	lock := filepath.Join(dir, "lock")
	waits, holds := make(chan error, 1), make(chan error, 1)
	entered := make(chan struct{})
	var ran, over atomic.Bool
	waiter := func(s *lease.State) error {
		ran.Store(true)
		if !over.Load() {
			t.Error("two have the lock")
		}
		return add("b")(s)
	}
	holder := func(s *lease.State) error {
		close(entered)
		for !ran.Load() && !queued(t, lock) {
			time.Sleep(time.Millisecond)
		}
		over.Store(true)
		return add("c")(s)
	}
	err := l.Update(context.Background(), func(*lease.State) error {
		go func() { waits <- l.Update(context.Background(), waiter) }()
		for !queued(t, lock) {
			time.Sleep(time.Millisecond)
		}
		if err := os.Remove(lock); err != nil {
			return err
		}
		go func() { holds <- l.Update(context.Background(), holder) }()
		<-entered
		return nil
	})
	if err := errors.Join(err, <-waits, <-holds); err != nil {
		t.Fatal(err)
	}
	check(t, l, holding("a", "b", "c"))
}

// queued reports whether a process waits for the lock.
func queued(t *testing.T, lock string) bool {
	t.Helper()
	file := fmt.Sprintf(":%d 0 EOF", info(t, lock).Sys().(*syscall.Stat_t).Ino)
	for line := range strings.Lines(text(t, "/proc/locks")) {
		if strings.Contains(line, "-> FLOCK") && strings.HasSuffix(line, file+"\n") {
			return true
		}
	}
	return false
}

// Of what many processes write at the same time nothing is lost.
func TestManyWriters(t *testing.T) {
	const writers, times = 16, 50
	l, dir := empty(t)
	want := holding()
	var running []*exec.Cmd
	for w := range writers {
		id := fmt.Sprintf("%02d", w)
		want.Leases = append(want.Leases, leaseOf(id))
		want.Leases[w].Rev = times
		cmd := child("count", dir, id, fmt.Sprint(times))
		cmd.Stderr = new(strings.Builder)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("child %v: %v\n%s", cmd.Args[1:], err, cmd.Stderr)
		}
	}
	check(t, l, want)
	names(t, dir, "leases.json", "lock")
}
