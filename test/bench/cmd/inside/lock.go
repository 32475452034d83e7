// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

const lockRounds = 200

// lock measures how long a start blocks others from the leases: from opening the lock's
// file until closing it, as inotify reports it. The lock is taken in between; a start
// opens the file once. It also measures the whole transaction, which begins when the
// state file is first opened.
func lock(container []string) (figure.Set, error) {
	restore, err := reconcile("/")
	if err != nil {
		return nil, err
	}
	w, err := watchFile(leasesDir + "/lock")
	if err != nil {
		return nil, err
	}
	defer w.close()
	argv := take(container)
	var values, whole []float64
	for range lockRounds {
		if err := restore(); err != nil {
			return nil, err
		}
		state, err := watchFile(leasesDir + "/leases.json") // another file after each start
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), noClient)
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("run %q: %w\n%s", argv, err, text)
		}
		began, err := state.next(syscall.IN_OPEN)
		if err != nil {
			return nil, err
		}
		opened, err := w.next(syscall.IN_OPEN)
		if err != nil {
			return nil, err
		}
		closed, err := w.next(syscall.IN_CLOSE)
		if err != nil {
			return nil, err
		}
		values = append(values, float64(closed.Sub(opened)))
		whole = append(whole, float64(closed.Sub(began)))
	}
	return figure.Set{
		"leases/lock/100": figure.Summarise(figure.Nanoseconds, values),
		"leases/take/100": figure.Summarise(figure.Nanoseconds, whole),
	}, restore()
}

// watch reports when a file is opened and closed, until it is itself closed or the file
// is removed.
type watch struct {
	fd     int
	events chan event
}

type event struct {
	mask uint32
	at   time.Time
}

func watchFile(path string) (watch, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		return watch{}, fmt.Errorf("watch %s: %w", path, err)
	}
	if _, err := syscall.InotifyAddWatch(fd, path, syscall.IN_OPEN|syscall.IN_CLOSE); err != nil {
		return watch{}, errors.Join(fmt.Errorf("watch %s: %w", path, err), syscall.Close(fd))
	}
	w := watch{fd, make(chan event, 64)}
	go w.listen()
	return w, nil
}

// listen records the time of each event. It has its own thread, so that it wakes as
// soon as the kernel allows.
func (w watch) listen() {
	runtime.LockOSThread()
	defer close(w.events)
	// One without a name is all there is of a file.
	buffer := make([]byte, syscall.SizeofInotifyEvent)
	for {
		n, err := syscall.Read(w.fd, buffer)
		at := time.Now()
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || n < len(buffer):
			return
		case binary.NativeEndian.Uint32(buffer[4:])&syscall.IN_IGNORED != 0:
			w.close()
			return
		default:
			w.events <- event{binary.NativeEndian.Uint32(buffer[4:]), at}
		}
	}
}

// next returns when the next event came, which has to be this one.
func (w watch) next(mask uint32) (time.Time, error) {
	select {
	case e, ok := <-w.events:
		if !ok || e.mask&mask == 0 {
			return time.Time{}, fmt.Errorf("watch the lock: got event %#x, want %#x", e.mask, mask)
		}
		return e.at, nil
	case <-time.After(time.Second):
		return time.Time{}, fmt.Errorf("watch the lock: no event %#x", mask)
	}
}

func (w watch) close() { syscall.Close(w.fd) }
