package hostfs

import (
	"fmt"
	"os"

	"github.com/metax-ctk/container-toolkit/internal/cause"
)

// Open opens a regular file for reading. It is for files of any size; ReadFile
// reads the small ones whole. It looks first: to open a device may do things.
func (r *Root) Open(path string) (*os.File, error) {
	info, err := r.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode.IsRegular() {
		return nil, fmt.Errorf("open %s: %w", r.Join(path), ErrNotRegular)
	}
	f, err := r.open(path, readFlags)
	if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err == nil && !is.Mode().IsRegular() {
		err = ErrNotRegular // by now
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", r.Join(path), cause.Of(err))
	}
	return f, nil
}
