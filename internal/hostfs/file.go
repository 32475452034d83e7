package hostfs

import (
	"fmt"
	"os"
)

// Open opens a regular file for reading. It is for files of any size; ReadFile
// reads the small ones whole.
func (r *Root) Open(path string) (*os.File, error) {
	f, err := r.open(path, readFlags)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", r.Join(path), cause(err))
	}
	return f, nil
}
