// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// writer writes each line to out and to files.
type writer struct {
	out   io.Writer
	files *files // nil if there are none
	say   func(error)

	mu     sync.Mutex
	failed bool
}

// Write writes one line. What cannot be written to a file is said once, and is no error.
func (w *writer) Write(line []byte) (int, error) {
	line = terminal.JSON([]byte(protocol.InCluster(string(line))))
	w.mu.Lock()
	_, err := w.out.Write(line)
	var fileErr error
	if w.files != nil && !w.failed {
		fileErr = w.files.write(line)
		w.failed = fileErr != nil
	}
	w.mu.Unlock()
	if fileErr != nil {
		w.say(fileErr)
	}
	return len(line), err
}

// Close closes the file.
func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files == nil {
		return nil
	}
	return w.files.close()
}

// files are the files of one program's log. It is for one goroutine at a time.
type files struct {
	dir, program     string
	rotation, maxAge time.Duration
	now              func() time.Time

	file  *os.File
	begin time.Time // of the file
}

const stamp = "2006-01-02T15Z"

// name is that of the file that begins at a time.
func (f *files) name(begin time.Time) string {
	return filepath.Join(f.dir, f.program+"."+begin.UTC().Format(stamp)+".log")
}

func (f *files) write(line []byte) error {
	begin := time.Unix(0, 0).Add(f.now().Sub(time.Unix(0, 0)).Truncate(f.rotation))
	if f.file == nil || !begin.Equal(f.begin) {
		if err := f.open(begin); err != nil {
			return err
		}
	}
	_, err := f.file.Write(line)
	return err
}

// open opens the file that begins at a time, and removes those that are too old.
func (f *files) open(begin time.Time) error {
	if err := f.close(); err != nil {
		return err
	}
	if err := atomicfile.MakeDir(f.dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of the log: %w", err)
	}
	file, err := logfile.OpenFile(f.name(begin))
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	f.file, f.begin = file, begin
	return f.removeOld()
}

// removeOld removes the files of this program that ended before maxAge. Files with other names
// stay.
func (f *files) removeOld() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("list the logs: %w", err)
	}
	for _, e := range entries {
		begin, ok := beginOf(e, f.program)
		if !ok || f.now().Before(begin.Add(f.rotation+f.maxAge)) {
			continue
		}
		if err := os.Remove(filepath.Join(f.dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove an old log: %w", err)
		}
	}
	return nil
}

// beginOf returns when a file of the program's log begins, and false for another file.
func beginOf(e os.DirEntry, program string) (time.Time, bool) {
	middle, ok := strings.CutPrefix(e.Name(), program+".")
	middle, log := strings.CutSuffix(middle, ".log")
	begin, err := time.Parse(stamp, middle)
	return begin, ok && log && err == nil && e.Type().IsRegular()
}

// Remove removes the logs of programs from a directory. Files with other names stay; a
// directory that is missing has none.
func Remove(dir string, programs ...string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the logs: %w", err)
	}
	var errs []error
	for _, e := range entries {
		for _, program := range programs {
			if _, ok := beginOf(e, program); ok {
				errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

func (f *files) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
