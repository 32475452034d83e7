// Package cause finds what went wrong in an error that names files. The caller names
// the file itself, in its own words; a path that a library added, for instance of a
// handle below /proc, says nothing to the reader.
package cause

import (
	"errors"
	"io/fs"
)

// Of returns the error without the operations and paths of its *fs.PathErrors.
func Of(err error) error {
	for in := (*fs.PathError)(nil); errors.As(err, &in); {
		err = in.Err
	}
	return err
}
