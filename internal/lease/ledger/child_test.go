// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/faults"
)

const boot = "5d1ac9a2-0a5c-4e0f-9a0c-0e3f6b1f7c11"

// childVariable makes the test binary one of the programs below.
const childVariable = "LEDGER_TEST_CHILD"

// children are the programs that tests run in processes of their own. What they print is the
// test's to judge.
var children = map[string]func(l *ledger.Ledger, args []string) error{
	"read": func(l *ledger.Ledger, _ []string) error {
		s, err := l.Read()
		for _, lease := range s.Leases {
			fmt.Println(lease.ID)
		}
		return err
	},
	"add": func(l *ledger.Ledger, args []string) error {
		return l.Update(context.Background(), add(args[0]))
	},
	// count ID TIMES: so many Updates of one lease.
	"count": func(l *ledger.Ledger, args []string) error {
		times, err := strconv.Atoi(args[1])
		for i := 0; i < times && err == nil; i++ {
			err = l.Update(context.Background(), func(s *lease.State) error {
				if l := s.Lease(args[0]); l != nil {
					l.Rev++
					return nil
				}
				return add(args[0])(s)
			})
		}
		return err
	},
	// umask: add one lease with a umask that takes everything from others.
	"umask": func(l *ledger.Ledger, args []string) error {
		unix.Umask(0o077)
		return l.Update(context.Background(), add(args[0]))
	},
	// hold: keep the lock until standard input ends.
	"hold": func(l *ledger.Ledger, _ []string) error {
		return l.Update(context.Background(), func(*lease.State) error {
			fmt.Println("held")
			_, err := bufio.NewReader(os.Stdin).ReadByte()
			return err
		})
	},
	// frozen ABOVE: Update and Init where the directory ABOVE is mounted read-only, in a mount
	// namespace of its own.
	"frozen": func(l *ledger.Ledger, args []string) error {
		above := args[0]
		if err := unix.Mount(above, above, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		if err := unix.Mount("", above, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return err
		}
		_, err := l.Read()
		fmt.Println("read:", err)
		fmt.Println("update:", l.Update(context.Background(), add("a")))
		fmt.Println("init:", l.Init(-1))
		return nil
	},
	// traced: one Update whose system calls count.
	"traced": func(l *ledger.Ledger, args []string) error {
		return faults.Traced(func() error { return l.Update(context.Background(), add(args[0])) })
	},
}

// failed is the exit code of a child whose function returned an error; a Go program that
// crashes has another.
const failed = 3

func TestMain(m *testing.M) {
	if run, ok := children[os.Getenv(childVariable)]; ok {
		if err := run(ledger.New(os.Args[1], boot), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(failed)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child returns the command of a child on the ledger in dir.
func child(name, dir string, args ...string) *exec.Cmd {
	// By this path a user without a way to the binary can run it too.
	cmd := exec.Command("/proc/self/exe", append([]string{dir}, args...)...)
	cmd.Env = environment(name)
	return cmd
}

// environment makes the test binary a child. The race detector would have it sleep for a
// second before it ends.
func environment(name string) []string {
	return append(os.Environ(), childVariable+"="+name, "GORACE=atexit_sleep_ms=0")
}

// output runs a child and returns what it printed.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("child %v: %v\n%s", cmd.Args[1:], err, out)
	}
	return string(out)
}

// refusal runs a child that has to fail and returns why it did.
func refusal(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != failed {
		t.Fatalf("child %v: %v, want exit code %d\n%s", cmd.Args[1:], err, failed, out)
	}
	return string(out)
}

// as makes a command run as a user.
func as(cmd *exec.Cmd, uid uint32, groups ...uint32) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, Groups: groups}}
	return cmd
}

// add returns a change that adds a lease.
func add(id string) func(*lease.State) error {
	return func(s *lease.State) error {
		at, found := slices.BinarySearchFunc(s.Leases, id, func(l usage.Lease, id string) int { return strings.Compare(l.ID, id) })
		if found {
			return fmt.Errorf("lease %q is there", id)
		}
		s.Leases = slices.Insert(s.Leases, at, leaseOf(id))
		return nil
	}
}

func leaseOf(id string) usage.Lease {
	return usage.Lease{ID: id, Rev: 1, GPUs: []gpu.BDF{{Bus: 0x0e}}, Engine: "docker", Verb: usage.VerbRun}
}
