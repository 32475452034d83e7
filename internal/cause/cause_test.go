package cause_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/cause"
)

func TestOf(t *testing.T) {
	inner := &fs.PathError{Op: "openat", Path: "/proc/self/fd/3/x", Err: fs.ErrPermission}
	other := errors.New("no room")
	for _, tc := range []struct{ err, want error }{
		{nil, nil},
		{other, other},
		{inner, fs.ErrPermission},
		{fmt.Errorf("reopen: %w", &fs.PathError{Op: "open", Path: "/x", Err: fmt.Errorf("again: %w", inner)}), fs.ErrPermission},
	} {
		if got := cause.Of(tc.err); got != tc.want {
			t.Errorf("cause of %v is %v, want %v", tc.err, got, tc.want)
		}
	}
}
