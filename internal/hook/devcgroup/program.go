// SPDX-License-Identifier: Apache-2.0

package devcgroup

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrProgram reports a device program that cannot be read or loaded again.
var ErrProgram = errors.New("its device program cannot be widened; use CDI for the devices")

// insn is an eBPF instruction in the kernel's layout: the operation, the registers
// (destination in the low half), the distance of a jump, a constant.
type insn struct {
	Op   uint8
	Regs uint8
	Off  int16
	Imm  int32
}

const insnSize = 8

// Operations of the prologue.
const (
	opLoad    = unix.BPF_LDX | unix.BPF_MEM | unix.BPF_W
	opMove    = unix.BPF_ALU64 | unix.BPF_MOV | unix.BPF_X
	opSet     = unix.BPF_ALU64 | unix.BPF_MOV | unix.BPF_K
	opAnd     = unix.BPF_ALU64 | unix.BPF_AND | unix.BPF_K
	opShift   = unix.BPF_ALU64 | unix.BPF_RSH | unix.BPF_K
	opJumpNot = unix.BPF_JMP | unix.BPF_JNE | unix.BPF_K
	opExit    = unix.BPF_JMP | unix.BPF_EXIT
)

// Registers. A program starts with its argument in r1 and nothing in the others, so the
// prologue may overwrite r2 to r5.
const (
	result = iota
	argument
	access
	scratch
	major
	minor
)

// maxRules is the most rules of a prologue: one jump leads over all of them, and a jump
// reaches 32767 instructions.
const maxRules = 4096

func regs(dst, src uint8) uint8 { return dst | src<<4 }

// allowPrologue returns instructions that allow what the rules say and leave everything else
// to the instructions after them. The argument points to three words: the kind of
// access (upper half) with the type of the device (lower half), the major and the minor
// number.
func allowPrologue(rules []Rule) []insn {
	list := []insn{
		{Op: opLoad, Regs: regs(access, argument)},
		{Op: opMove, Regs: regs(scratch, access)},
		{Op: opAnd, Regs: regs(scratch, 0), Imm: 0xffff},
		{Op: opShift, Regs: regs(access, 0), Imm: 16},
		{Op: opLoad, Regs: regs(major, argument), Off: 4},
		{Op: opLoad, Regs: regs(minor, argument), Off: 8},
		{Op: opJumpNot, Regs: regs(scratch, 0), Imm: unix.BPF_DEVCG_DEV_CHAR}, // Off is set below
	}
	jump := len(list) - 1
	for _, r := range rules {
		allowed := int32(unix.BPF_DEVCG_ACC_READ | unix.BPF_DEVCG_ACC_WRITE)
		if r.ReadOnly {
			allowed = unix.BPF_DEVCG_ACC_READ
		}
		list = append(list,
			insn{Op: opJumpNot, Regs: regs(major, 0), Off: 6, Imm: int32(r.Major)},
			insn{Op: opJumpNot, Regs: regs(minor, 0), Off: 5, Imm: int32(r.Minor)},
			insn{Op: opMove, Regs: regs(scratch, access)},
			insn{Op: opAnd, Regs: regs(scratch, 0), Imm: ^allowed},
			insn{Op: opJumpNot, Regs: regs(scratch, 0), Off: 2, Imm: 0},
			insn{Op: opSet, Regs: regs(result, 0), Imm: 1},
			insn{Op: opExit},
		)
	}
	list[jump].Off = int16(len(list) - jump - 1)
	return list
}

// checkReloadable fails if a program that the kernel shows cannot be loaded again. The
// kernel shows programs as the verifier left them, with references to maps, functions
// and kernel memory replaced. No runtime's device program has such references; a
// program with one is refused. checkReloadable undoes one change of the verifier: the
// marks that some processors' compilers need after operations on 32 bits.
func checkReloadable(list []insn) error {
	if len(list) == 0 {
		return fmt.Errorf("%w: the kernel does not show it", ErrProgram)
	}
	const wide = unix.BPF_LD | unix.BPF_IMM | unix.BPF_DW
	for i := 0; i < len(list); i++ {
		in, known := &list[i], false
		switch in.Op & 0x07 {
		case unix.BPF_ALU, unix.BPF_ALU64:
			known = true
			if in.Op == unix.BPF_ALU|unix.BPF_MOV|unix.BPF_X && in.Imm == 1 {
				in.Imm = 0
			}
		case unix.BPF_JMP, unix.BPF_JMP32:
			known = in.Op != unix.BPF_JMP|unix.BPF_CALL
		case unix.BPF_LDX, unix.BPF_ST, unix.BPF_STX:
			known = in.Op&0xe0 == unix.BPF_MEM
		case unix.BPF_LD:
			known = in.Op == wide && in.Regs>>4 == 0 && i+1 < len(list)
			i++ // its second half
		}
		if !known {
			return fmt.Errorf("%w: operation %#02x", ErrProgram, in.Op)
		}
	}
	return nil
}

func decodeInstructions(code []byte) []insn {
	list := make([]insn, len(code)/insnSize)
	for i := range list {
		at := code[i*insnSize:]
		list[i] = insn{
			Op: at[0], Regs: at[1], Off: int16(binary.NativeEndian.Uint16(at[2:])),
			Imm: int32(binary.NativeEndian.Uint32(at[4:])),
		}
	}
	return list
}

func encodeInstructions(list []insn) []byte {
	var code []byte
	for _, in := range list {
		code = append(code, in.Op, in.Regs)
		code = binary.NativeEndian.AppendUint16(code, uint16(in.Off))
		code = binary.NativeEndian.AppendUint32(code, uint32(in.Imm))
	}
	return code
}
