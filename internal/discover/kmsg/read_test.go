// SPDX-License-Identifier: Apache-2.0

package kmsg

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// packets is a file of which each read returns one of the records, as from /dev/kmsg; it ends
// as that does, if it is open, by EAGAIN.
func packets(t *testing.T, open bool, records ...string) *os.File {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	writer, reader := os.NewFile(uintptr(fds[0]), "kernel"), os.NewFile(uintptr(fds[1]), "kmsg")
	t.Cleanup(func() { writer.Close(); reader.Close() })
	for _, r := range records {
		if _, err := writer.Write([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
	if !open {
		writer.Close()
	}
	return reader
}

// TestReadAll: reading ends at the last record that is there now, or at its bound.
func TestReadAll(t *testing.T) {
	at := gpu.BDF{Bus: 0x0e}
	var records []string
	for i := range 5 {
		records = append(records, fmt.Sprintf("3,%d,0,-;METAX.B0E00.SMI.ERROR text", i+1))
	}
	for name, c := range map[string]struct {
		file       *os.File
		most, want int
		err        error
	}{
		"a log that goes on": {packets(t, true, records...), 6, 5, nil},
		"an empty log":       {packets(t, true), 6, 0, nil},
		"a log that ends":    {packets(t, false, records...), 6, 5, nil},
		"too many":           {packets(t, true, records...), 4, 4, ErrTooMany},
	} {
		var l Log
		err := l.readMost(c.file, []gpu.GPU{{BDF: at}}, c.most)
		got := 0
		for _, of := range l.GPUs {
			got += of.Errors[0].Count
		}
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %d messages, %v", name, got, err)
		}
	}
	directory, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer directory.Close()
	if err := new(Log).ReadAll(directory, nil); !errors.Is(err, unix.EISDIR) {
		t.Error(err)
	}
}
