// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

// Step is one safe change. Exactly one of its fields is set, beside Mode and Target.
type Step struct {
	// Toolkit are the arguments of a command of metax-ctk.
	Toolkit []string
	// Directory is a directory to make, with those above it, mode 0755.
	Directory string
	// Link is a symbolic link to make with the Target, if nothing is there.
	Link, Target string
	// Chmod is a file that gets the permission bits Mode.
	Chmod string
	Mode  fs.FileMode
}

// String is the step as a command for a shell.
func (s Step) String() string {
	switch {
	case s.Toolkit != nil:
		words := []string{"metax-ctk"}
		for _, arg := range s.Toolkit {
			words = append(words, dockerargs.QuoteWord(arg))
		}
		return strings.Join(words, " ")
	case s.Directory != "":
		return "mkdir -p " + dockerargs.QuoteWord(s.Directory)
	case s.Link != "":
		return "ln -s " + dockerargs.QuoteWord(s.Target) + " " + dockerargs.QuoteWord(s.Link)
	}
	return fmt.Sprintf("chmod %04o %s", s.Mode, dockerargs.QuoteWord(s.Chmod))
}

// Do makes the change; toolkit runs a command of metax-ctk. A change that is already
// made is not a failure.
func (s Step) Do(ctx context.Context, toolkit func(ctx context.Context, args []string) error) error {
	switch {
	case s.Toolkit != nil:
		return toolkit(ctx, s.Toolkit)
	case s.Directory != "":
		return os.MkdirAll(s.Directory, 0o755) //nolint:gosec // G301: every user reads /dev/char and directories of CDI specs
	case s.Link != "":
		err := os.Symlink(s.Target, s.Link)
		if at, failed := os.Readlink(s.Link); errors.Is(err, fs.ErrExist) && failed == nil && at == s.Target {
			return nil
		}
		return err
	}
	return os.Chmod(s.Chmod, s.Mode)
}

func shellCommands(steps []Step) string {
	lines := make([]string, len(steps))
	for i, s := range steps {
		lines[i] = s.String()
	}
	return strings.Join(lines, "\n")
}
