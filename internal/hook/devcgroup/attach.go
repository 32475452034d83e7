package devcgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// rounds is how often a list of programs is read anew because another process
// has replaced one of them meanwhile.
const rounds = 3

// allowByProgram widens every device program of the cgroup, as an access must
// please them all. A group without a program allows everything.
func allowByProgram(dir string, rules []Rule) error {
	group, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer group.Close()
	if len(rules) > maxRules {
		return fmt.Errorf("%w: more than %d devices at once", ErrProgram, maxRules)
	}
	before := prologue(rules)
	for range rounds {
		var ids []uint32
		var flags uint32
		if ids, flags, err = attached(group); err != nil {
			return err
		}
		for _, id := range ids {
			if err = widen(group, id, flags, before); err != nil {
				break
			}
		}
		if !errors.Is(err, errGone) {
			return err
		}
	}
	return fmt.Errorf("%w: it is attached by a link, or replaced all the time", ErrProgram)
}

// widen puts the prologue before one program. One that begins with it stays.
func widen(group *os.File, id, flags uint32, before []insn) error {
	old, err := programByID(id)
	if errors.Is(err, unix.ENOENT) {
		return errGone
	}
	if err != nil {
		return err
	}
	defer old.Close()
	code, err := instructions(old)
	if err != nil {
		return err
	}
	if err := rewritable(code); err != nil {
		return err
	}
	if len(code) > len(before) && slices.Equal(code[:len(before)], before) {
		return nil
	}
	program, err := load(append(slices.Clone(before), code...))
	if err != nil {
		return err
	}
	defer program.Close()
	return replace(group, old, program, flags)
}
