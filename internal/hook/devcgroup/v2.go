// SPDX-License-Identifier: Apache-2.0

package devcgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// maxAttempts is how often the list of programs is read again because another process
// has replaced one meanwhile.
const maxAttempts = 3

// allowByProgram widens every device program of the cgroup, because an access needs the
// permission of all. A group without a program allows everything.
func allowByProgram(dir string, rules []Rule) error {
	//nolint:gosec // G304: dir is from the kernel's lists of cgroups and mounts, see Find
	group, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer group.Close()
	if len(rules) > maxRules {
		return fmt.Errorf("%w: more than %d devices at once", ErrProgram, maxRules)
	}
	before := allowPrologue(rules)
	for range maxAttempts {
		var ids []uint32
		var flags uint32
		if ids, flags, err = attachedPrograms(group); err != nil {
			return err
		}
		for _, id := range ids {
			if err = widen(group, id, flags, before); err != nil {
				break
			}
		}
		if !errors.Is(err, errReplaced) {
			return err
		}
	}
	return fmt.Errorf("%w: it is attached by a link, or another process keeps replacing it", ErrProgram)
}

// widen puts the prologue before one program, unless the program already begins with
// it.
func widen(group *os.File, id, flags uint32, before []insn) error {
	old, err := programByID(id)
	if errors.Is(err, unix.ENOENT) {
		return errReplaced
	}
	if err != nil {
		return err
	}
	defer old.Close()
	code, err := readInstructions(old)
	if err != nil {
		return err
	}
	if err := checkReloadable(code); err != nil {
		return err
	}
	if len(code) > len(before) && slices.Equal(code[:len(before)], before) {
		return nil
	}
	program, err := loadProgram(append(slices.Clone(before), code...))
	if err != nil {
		return err
	}
	defer program.Close()
	return replaceProgram(group, old, program, flags)
}
