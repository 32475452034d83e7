// SPDX-License-Identifier: Apache-2.0

package privilege

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures are the kernel's names (seccomp(2), audit.h) of Go's architectures.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "loong64": unix.AUDIT_ARCH_LOONGARCH64,
	"ppc64le": unix.AUDIT_ARCH_PPC64LE, "riscv64": unix.AUDIT_ARCH_RISCV64, "s390x": unix.AUDIT_ARCH_S390X,
}

// x32Bit is set in the numbers of system calls of x32, the other ABI of x86-64, which
// has its own numbers for the same calls.
const x32Bit = 0x40000000

// Forbid makes these system calls return EPERM for the calling thread, which the caller
// has locked, and for every program that it executes. A call by another ABI kills the
// process. Forbid needs no privilege but no_new_privs, so DropInThread must come first.
func Forbid(calls ...uint32) error {
	own, ok := architectures[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("filter system calls: no filter for %s", runtime.GOARCH)
	}
	filter := filterProgram(own, calls)
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	//nolint:gosec // G103: the conversion is in the call, and KeepAlive keeps what prog points to
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

func filterProgram(own uint32, calls []uint32) []unix.SockFilter {
	const (
		number = 0 // offsets in struct seccomp_data
		arch   = 4
	)
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	answer := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
	}
	// unless skips the next instruction if the test fails.
	unless := func(test uint16, value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: value, Jf: 1}
	}
	list := []unix.SockFilter{
		load(arch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: own, Jt: 1},
		answer(unix.SECCOMP_RET_KILL_PROCESS),
		load(number),
		unless(unix.BPF_JGE, x32Bit),
		answer(unix.SECCOMP_RET_KILL_PROCESS),
	}
	for _, call := range calls {
		list = append(list, unless(unix.BPF_JEQ, call), answer(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)))
	}
	return append(list, answer(unix.SECCOMP_RET_ALLOW))
}
