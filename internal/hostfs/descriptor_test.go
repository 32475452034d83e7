// SPDX-License-Identifier: Apache-2.0

package hostfs_test

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadFileOfProc: a file without a size is read to its end, although it gives a page at a time.
func TestReadFileOfProc(t *testing.T) {
	const regions = 400
	for i := range regions {
		// Neighbours of the same kind would be one region.
		memory, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|i%2*unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Munmap(memory)
	}
	text, err := open(t, "/").ReadFile("/proc/self/maps")
	if lines := bytes.Count(text, []byte("\n")); err != nil || lines < regions {
		t.Errorf("read %d lines, %v; want %d at least", lines, err, regions)
	}
}
