// SPDX-License-Identifier: Apache-2.0

package privilege

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestForbid tries the calls in another process, because a filter cannot be removed.
func TestForbid(t *testing.T) {
	if os.Getenv("FORBID") != "" {
		forbidden()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestForbid$")
	cmd.Env = append(os.Environ(), "FORBID=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "as it should be\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

func forbidden() {
	runtime.LockOSThread()
	say := func(what string, err error) {
		if err != nil {
			os.Stdout.WriteString(what + ": " + err.Error() + "\n")
			os.Exit(1)
		}
	}
	say("prctl", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	say("forbid", Forbid(unix.SYS_SOCKET, unix.SYS_OPEN_BY_HANDLE_AT))
	if _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); !errors.Is(err, unix.EPERM) {
		say("socket", errors.Join(errors.New("is allowed"), err))
	}
	// Without the filter it would be EFAULT, or EPERM for a process without the capability.
	if _, _, errno := unix.Syscall(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0); errno != unix.EPERM {
		say("open_by_handle_at", errno)
	}
	_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	say("a call that is not named", err)
	// The programs that it executes are filtered also.
	err = unix.Exec("/bin/sh", []string{"sh", "-c", "echo as it should be"}, nil)
	say("exec", err)
}

// TestForbidOtherABI: the calls are also forbidden by the processor's other ABI, which
// has other numbers.
func TestForbidOtherABI(t *testing.T) {
	list := filterProgram(unix.AUDIT_ARCH_X86_64, []uint32{41})
	for name, tc := range map[string]struct{ arch, number, want uint32 }{
		"named":        {unix.AUDIT_ARCH_X86_64, 41, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		"another":      {unix.AUDIT_ARCH_X86_64, 42, unix.SECCOMP_RET_ALLOW},
		"x32":          {unix.AUDIT_ARCH_X86_64, 42 | x32Bit, unix.SECCOMP_RET_KILL_PROCESS},
		"32 bits":      {unix.AUDIT_ARCH_I386, 42, unix.SECCOMP_RET_KILL_PROCESS},
		"the negative": {unix.AUDIT_ARCH_X86_64, 0xffffffff, unix.SECCOMP_RET_KILL_PROCESS},
	} {
		if got := interpret(t, list, map[uint32]uint32{0: tc.number, 4: tc.arch}); got != tc.want {
			t.Errorf("%s: %#x, want %#x", name, got, tc.want)
		}
	}
}

// interpret runs the few instructions that such a program has.
func interpret(t *testing.T, list []unix.SockFilter, data map[uint32]uint32) uint32 {
	t.Helper()
	var a uint32
	for pc := 0; pc < len(list); pc++ {
		in := list[pc]
		jump := func(taken bool) {
			if taken {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = data[in.K]
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == in.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= in.K)
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		default:
			t.Fatalf("instruction %d: code %#x", pc, in.Code)
		}
	}
	t.Fatal("the program does not end")
	return 0
}
