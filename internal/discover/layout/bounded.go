// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// ErrLate reports a file that does not answer.
var ErrLate = errors.New("no answer")

const (
	// Patience is how long the reading of one directory may take without an answer. A read in
	// sysfs takes microseconds, unless it waits in the driver.
	Patience = 50 * time.Millisecond
	// limit bounds a reading as a whole, for a driver each of whose files is slow.
	limit = time.Second
	// tick is what both are counted in. A tick that ends late, because the process got no
	// processor, counts as one, so that a busy machine is not taken for a driver that hangs.
	tick = 5 * time.Millisecond
)

// waiting are the reads of this process that were given up and have not come back. In a
// program that takes looks for weeks, no more than maxWaiting threads may wait in a driver
// that hangs.
var waiting atomic.Int32

const maxWaiting = 4

// bounded reads files in a goroutine of its own, because nothing ends a read that waits in a
// driver. After one that is late, nothing more is read.
type bounded struct {
	files Files
	nodes *hostfs.Dir // that of the nodes, once it is known; nil of other files than a host's
	work  chan func()
	done  chan struct{}
	at    atomic.Pointer[string] // the file that is being read
	spent time.Duration          // in ticks that ended
	timer *time.Timer
	late  error

	isLate atomic.Bool // late, for the goroutine, where a read did not come back
}

func newBounded(files Files) *bounded {
	b := &bounded{files: files, work: make(chan func(), 1), done: make(chan struct{}, 1), timer: time.NewTimer(Patience)}
	b.at.Store(&classDirs[0])
	if waiting.Load() >= maxWaiting {
		b.late = fmt.Errorf("%d earlier reads still wait in the driver: %w", maxWaiting, ErrLate)
	}
	go func() {
		for f := range b.work {
			f()
			b.done <- struct{}{}
		}
		if b.nodes != nil {
			b.nodes.Close()
		}
		if b.isLate.Load() {
			waiting.Add(-1)
		}
	}()
	return b
}

// close ends the goroutine, if need be once its read has ended.
func (b *bounded) close() {
	b.timer.Stop()
	close(b.work)
}

// readInTime calls read and returns nil if it came back in time. Otherwise what read sets must
// not be used, because it may still run.
func (b *bounded) readInTime(read func()) error {
	if b.late != nil {
		return b.late
	}
	b.work <- read
	for range Patience / tick {
		b.timer.Reset(tick)
		select {
		case <-b.done:
			if b.spent > limit {
				b.late = fmt.Errorf("the driver's files took longer than %s: %w", limit, ErrLate)
			}
			return nil
		case <-b.timer.C:
			b.spent += tick
		}
	}
	waiting.Add(1)
	b.isLate.Store(true)
	b.late = fmt.Errorf("read %s: %w within %s", *b.at.Load(), ErrLate, Patience)
	return b.late
}

// openNodes opens the directory of the nodes, so that its path is not walked for each file.
func (b *bounded) openNodes(dir string) {
	if host, ok := b.files.(*hostfs.Root); ok {
		b.nodes = host.At(dir)
	}
}

// from returns what reads a path, and the name for it.
func (b *bounded) from(path string) (files Files, name string) {
	b.at.Store(&path)
	if b.nodes != nil {
		if name, ok := strings.CutPrefix(path, b.nodes.Path("")+"/"); ok {
			return b.nodes, name
		}
	}
	return b.files, path
}

func (b *bounded) readFile(path string) (string, error) {
	files, name := b.from(path)
	text, err := files.ReadFile(name)
	return string(text), err
}

func (b *bounded) readDir(path string) ([]string, error) {
	files, name := b.from(path)
	return files.ReadDir(name)
}
