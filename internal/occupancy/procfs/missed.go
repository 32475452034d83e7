package procfs

import (
	"fmt"
	"io/fs"
	"os"
)

// missed is why a walk did not see everything, nil if it did.
func (f finds) missed() error {
	switch {
	case f.err != nil:
		return f.err
	case f.hidden:
		return fmt.Errorf("processes of other users are hidden%s: %w", remedy(), fs.ErrPermission)
	case f.refused > 0:
		return fmt.Errorf("%s cannot be looked into%s: %w", count(f.refused, "process", "processes"), remedy(), fs.ErrPermission)
	}
	return nil
}

// remedy ends a message of a user who was refused.
func remedy() string {
	if os.Geteuid() == 0 {
		return ", even by root"
	}
	return " (run as root to see them)"
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
