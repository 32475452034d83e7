// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// readDir returns the entries of a directory, sorted, and at most limit of them. It reads no
// further: a directory can have more entries than fit into memory.
func readDir(root *os.Root, dir string, limit int) ([]fs.DirEntry, error) {
	file, err := root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0) // a FIFO is refused, not waited for
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.ReadDir(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, err
}
