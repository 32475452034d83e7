// SPDX-License-Identifier: Apache-2.0

package kmsg

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// MaxRecord is more than the bytes of any record.
const MaxRecord = 16 << 10

// maxRecords bounds a reading. The largest logs that kernels are set up with hold fewer.
const maxRecords = 1 << 20

// ErrTooMany reports a log of which only the first records were read.
var ErrTooMany = fmt.Errorf("the kernel's log has more than %d records; the last ones were not read", maxRecords)

// ReadAll adds the records that the kernel's log has now, from the first on. The log is
// /dev/kmsg, opened with O_NONBLOCK. What was read before an error is added.
func (l *Log) ReadAll(log *os.File, node []gpu.GPU) error {
	return l.readMost(log, node, maxRecords)
}

// readMost is ReadAll for a number of records.
func (l *Log) readMost(log *os.File, node []gpu.GPU, most int) error {
	conn, err := log.SyscallConn()
	if err != nil {
		return fmt.Errorf("read the kernel's log: %w", err)
	}
	buffer := make([]byte, MaxRecord)
	for range most {
		n := 0
		if controlErr := conn.Read(func(fd uintptr) bool {
			n, err = unix.Read(int(fd), buffer)
			return true // os.File would wait for the next record
		}); controlErr != nil {
			err = controlErr
		}
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR): // overwritten: the next one is there
			continue
		case errors.Is(err, unix.EAGAIN), err == nil && n == 0:
			return nil
		case err != nil:
			return fmt.Errorf("read the kernel's log: %w", err)
		}
		l.Add(string(buffer[:n]), node)
	}
	return ErrTooMany
}
