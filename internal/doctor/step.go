package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Step is one safe change. Exactly one of its fields is set besides Mode and
// Target.
type Step struct {
	// Toolkit are the arguments of a command of metax-ctk.
	Toolkit []string
	// Directory is made where it is missing, with those above it, mode 0755.
	Directory string
	// Link is a symbolic link that is made with the Target, if nothing is there.
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
			words = append(words, quoted(arg))
		}
		return strings.Join(words, " ")
	case s.Directory != "":
		return "mkdir -p " + quoted(s.Directory)
	case s.Link != "":
		return "ln -s " + quoted(s.Target) + " " + quoted(s.Link)
	}
	return fmt.Sprintf("chmod %04o %s", s.Mode, quoted(s.Chmod))
}

// Do takes the step; toolkit runs a command of metax-ctk. A step that has been
// taken already is no failure.
func (s Step) Do(ctx context.Context, toolkit func(ctx context.Context, args []string) error) error {
	switch {
	case s.Toolkit != nil:
		return toolkit(ctx, s.Toolkit)
	case s.Directory != "":
		return os.MkdirAll(s.Directory, 0o755)
	case s.Link != "":
		err := os.Symlink(s.Target, s.Link)
		if at, failed := os.Readlink(s.Link); errors.Is(err, fs.ErrExist) && failed == nil && at == s.Target {
			return nil
		}
		return err
	}
	return os.Chmod(s.Chmod, s.Mode)
}

func commands(steps []Step) string {
	lines := make([]string, len(steps))
	for i, s := range steps {
		lines[i] = s.String()
	}
	return strings.Join(lines, "\n")
}

// quoted is a word of a shell's command line.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
