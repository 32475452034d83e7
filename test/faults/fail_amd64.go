// SPDX-License-Identifier: Apache-2.0

package faults

import "golang.org/x/sys/unix"

// Fail skips a call and makes it return an error.
func Fail(errno unix.Errno) Fault {
	return Fault{
		enter: func(_, tid int) error {
			return change(tid, func(r *unix.PtraceRegs) { r.Orig_rax = ^uint64(0) })
		},
		leave: func(_, tid int) error {
			return change(tid, func(r *unix.PtraceRegs) { r.Rax = -uint64(errno) })
		},
	}
}

func change(tid int, set func(*unix.PtraceRegs)) error {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	set(&regs)
	return unix.PtraceSetRegs(tid, &regs)
}
