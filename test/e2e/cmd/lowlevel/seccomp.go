// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keepLockedMemory answers every later attempt to change RLIMIT_MEMLOCK with success, and
// changes nothing. crun before 1.9 raises it to load its device rules and gives up if it may
// not; the kernel has not needed it for that since 5.11. The filter stays with the thread
// that then executes the runtime, and with all it starts.
func keepLockedMemory() error {
	runtime.LockOSThread()
	const (
		number  = 0    // offset of the number in struct seccomp_data
		args    = 16   // offset of the arguments; each takes 8 bytes
		low     = args // low half of argument 0 on little endian
		pretend = unix.SECCOMP_RET_ERRNO
		allow   = unix.SECCOMP_RET_ALLOW
	)
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	unless := func(value uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: skip}
	}
	answer := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
	}
	// prlimit64(pid, resource, new, old): setrlimit of the C library is this one too.
	filter := []unix.SockFilter{
		load(number), unless(unix.SYS_PRLIMIT64, 5),
		load(low + 8), unless(unix.RLIMIT_MEMLOCK, 3),
		load(low + 16),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0, Jt: 1},
		answer(pretend),
		answer(allow),
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("install the filter for locked memory: %w", errno)
	}
	return nil
}
