// SPDX-License-Identifier: Apache-2.0

package devcgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errReplaced reports a program that another process replaced meanwhile.
var errReplaced = errors.New("another process replaced the program")

const (
	maxPrograms = 64      // the kernel's own limit for one cgroup
	maxCode     = 1 << 20 // bytes; the kernel's own limit is a million instructions
)

// bpfAttr is the argument of the bpf system call. Kernels know different lengths of it:
// they accept a longer one if the rest is zero, and never write beyond what they know.
type bpfAttr [160]byte

func (a *bpfAttr) set32(at int, v uint32) { binary.NativeEndian.PutUint32(a[at:], v) }
func (a *bpfAttr) set64(at int, v uint64) { binary.NativeEndian.PutUint64(a[at:], v) }
func (a *bpfAttr) get32(at int) uint32    { return binary.NativeEndian.Uint32(a[at:]) }

// setPointer stores the address of buf, which stays in place as long as it is pinned.
func (a *bpfAttr) setPointer(pin *runtime.Pinner, at int, buf []byte) {
	p := unsafe.Pointer(unsafe.SliceData(buf)) //nolint:gosec // G103: pinned in the next line, so the address stays
	pin.Pin(p)
	a.set64(at, uint64(uintptr(p)))
}

func bpf(command uintptr, a *bpfAttr) (int, error) {
	//nolint:gosec // G103: the conversion is in the call, which keeps a in place until it returns
	n, _, errno := unix.Syscall(unix.SYS_BPF, command, uintptr(unsafe.Pointer(a)), unsafe.Sizeof(*a))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// attachedPrograms lists the ids of the cgroup's own device programs and the flags with
// which they are attached.
func attachedPrograms(group *os.File) (ids []uint32, flags uint32, err error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	var a bpfAttr
	buf := make([]byte, 4*maxPrograms)
	a.set32(0, uint32(group.Fd()))
	a.set32(4, unix.BPF_CGROUP_DEVICE)
	a.setPointer(&pin, 16, buf)
	a.set32(24, maxPrograms)
	if _, err := bpf(unix.BPF_PROG_QUERY, &a); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return nil, 0, nil // a kernel without device programs
	} else if err != nil {
		return nil, 0, fmt.Errorf("list its device programs: %w", err)
	}
	for i := range min(a.get32(24), maxPrograms) {
		ids = append(ids, binary.NativeEndian.Uint32(buf[4*i:]))
	}
	return ids, a.get32(12), nil
}

func programByID(id uint32) (*os.File, error) {
	var a bpfAttr
	a.set32(0, id)
	fd, err := bpf(unix.BPF_PROG_GET_FD_BY_ID, &a)
	if err != nil {
		return nil, fmt.Errorf("open its device program: %w", err)
	}
	return os.NewFile(uintptr(fd), "device program"), nil
}

// readInstructions returns a program's instructions; nil if the kernel hides them.
func readInstructions(program *os.File) ([]insn, error) {
	const size, codeSize, codeAt, maps = 56, 20, 32, 52
	var code []byte
	for range 2 { // first the length, then the instructions
		var pin runtime.Pinner
		defer pin.Unpin()
		var a, info bpfAttr
		if len(code) > 0 {
			info.set32(codeSize, uint32(len(code)))
			info.setPointer(&pin, codeAt, code)
		}
		pin.Pin(&info)
		a.set32(0, uint32(program.Fd()))
		a.set32(4, size)
		a.set64(8, uint64(uintptr(unsafe.Pointer(&info)))) //nolint:gosec // G103: info is pinned until the function returns
		if _, err := bpf(unix.BPF_OBJ_GET_INFO_BY_FD, &a); err != nil {
			return nil, fmt.Errorf("read its device program: %w", err)
		}
		if n := info.get32(maps); n > 0 {
			return nil, fmt.Errorf("%w: it refers to %d maps", ErrProgram, n)
		}
		n := info.get32(codeSize)
		if n > maxCode {
			return nil, fmt.Errorf("%w: it is %d bytes long", ErrProgram, n)
		}
		if code != nil {
			if binary.NativeEndian.Uint64(info[codeAt:]) == 0 {
				return nil, nil
			}
			break
		}
		code = make([]byte, n)
	}
	return decodeInstructions(code), nil
}

// loadProgram loads a program into the kernel. Kernels before 5.11 count its memory as
// locked; loadProgram raises that limit if it is too small and may be raised.
func loadProgram(list []insn) (*os.File, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	var a bpfAttr
	a.set32(0, unix.BPF_PROG_TYPE_CGROUP_DEVICE)
	a.set32(4, uint32(len(list)))
	a.setPointer(&pin, 8, encodeInstructions(list))
	a.setPointer(&pin, 16, []byte("Apache-2.0\x00"))
	copy(a[48:63], "metax_devices")
	fd, err := bpf(unix.BPF_PROG_LOAD, &a)
	if errors.Is(err, unix.EPERM) {
		limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
		if unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit) == nil {
			fd, err = bpf(unix.BPF_PROG_LOAD, &a)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("load the widened device program: %w", err)
	}
	return os.NewFile(uintptr(fd), "device program"), nil
}

// replaceProgram replaces one program by another in one step. Where several may be
// attached, the call names the old one.
func replaceProgram(group, old, program *os.File, flags uint32) error {
	var a bpfAttr
	a.set32(0, uint32(group.Fd()))
	a.set32(4, uint32(program.Fd()))
	a.set32(8, unix.BPF_CGROUP_DEVICE)
	if flags&unix.BPF_F_ALLOW_MULTI != 0 {
		flags |= unix.BPF_F_REPLACE
		a.set32(16, uint32(old.Fd()))
	}
	a.set32(12, flags)
	_, err := bpf(unix.BPF_PROG_ATTACH, &a)
	switch {
	case errors.Is(err, unix.ENOENT):
		return errReplaced
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%w: the kernel cannot replace it (Linux 5.6 can)", ErrProgram)
	case err != nil:
		return fmt.Errorf("attach the widened device program: %w", err)
	}
	return nil
}
