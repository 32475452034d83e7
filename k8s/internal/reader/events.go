// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Events tells of events of the kernel until the context ends: uevents of PCI and DRM devices,
// which the kernel sends to every network namespace, and device nodes that come and go in the
// directories, which matters where a tree stands for the host. Several events may be one item.
// It fails only if neither can be had; a directory that does not exist is left out.
func Events(ctx context.Context, dirs ...string) (chan struct{}, error) {
	events := make(chan struct{}, 1)
	uevents, err := openUevents()
	if err == nil {
		go read(ctx, uevents, events, isGPUEvent)
	}
	notes, notesErr := openNotes(dirs)
	if notesErr == nil {
		go read(ctx, notes, events, isGPUNode)
	}
	if err != nil && notesErr != nil {
		return nil, errors.Join(err, notesErr)
	}
	return events, nil
}

// Poll calls state after each interval until the context ends, and adds an event if it differs
// from the last one: a GPU that becomes unavailable makes no event of the kernel. The looks
// that follow decide what it means.
func Poll(ctx context.Context, interval time.Duration, state func() string, events chan<- struct{}) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for last := state(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := state(); now != last {
			last = now
			select {
			case events <- struct{}{}:
			default: // one is enough
			}
		}
	}
}

// openUevents opens a socket for uevents.
func openUevents() (*os.File, error) {
	const kernelGroup = 1
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK,
		unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, fmt.Errorf("open a socket for events of the kernel: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelGroup}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("listen to events of the kernel: %w", err)
	}
	return os.NewFile(uintptr(fd), "uevents"), nil
}

// openNotes watches directories. Reads and writes of devices are no notes: /dev/null alone has
// thousands of them.
func openNotes(dirs []string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch directories of devices: %w", err)
	}
	watched := 0
	for _, dir := range dirs {
		_, err := unix.InotifyAddWatch(fd, dir,
			unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
		if err == nil {
			watched++
		} else if !errors.Is(err, unix.ENOENT) {
			unix.Close(fd)
			return nil, fmt.Errorf("watch %s: %w", dir, err)
		}
	}
	if watched == 0 {
		unix.Close(fd)
		return nil, fmt.Errorf("watch %s: %w", strings.Join(dirs, ", "), unix.ENOENT)
	}
	return os.NewFile(uintptr(fd), "inotify"), nil
}

// read sends an item for each message that concerns a GPU, until the context ends.
func read(ctx context.Context, f *os.File, events chan<- struct{}, concerns func([]byte) bool) {
	stop := context.AfterFunc(ctx, func() { f.Close() })
	defer stop()
	buffer := make([]byte, 64<<10)
	for {
		n, err := f.Read(buffer)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, unix.ENOBUFS): // events were lost, perhaps ours
		case err != nil:
			return
		case !concerns(buffer[:n]):
			continue
		}
		select {
		case events <- struct{}{}:
		default: // one is waiting already
		}
	}
}

// isGPUEvent reports whether a uevent may concern a GPU: a PCI device or its driver, a DRM
// device, or a module. The message is "ACTION@PATH" and lines KEY=VALUE, each ended by a zero.
func isGPUEvent(message []byte) bool {
	subsystem, other := "", false
	for field := range bytes.SplitSeq(message, []byte{0}) {
		key, value, _ := strings.Cut(string(field), "=")
		switch key {
		case "SUBSYSTEM":
			subsystem = value
		case "PCI_ID":
			other = !strings.HasPrefix(strings.ToUpper(value), "9999:")
		}
	}
	switch subsystem {
	case "pci":
		return !other
	case "drm":
		return true
	case "module":
		return bytes.Contains(message, []byte("/module/metax"))
	}
	return bytes.Contains(message, []byte("/mx"))
}

// isGPUNode reports whether one of the notes names a device node of a GPU, or its directory.
func isGPUNode(notes []byte) bool {
	for len(notes) >= unix.SizeofInotifyEvent {
		length := int(binary.NativeEndian.Uint32(notes[12:]))
		end := unix.SizeofInotifyEvent + length
		if length < 0 || end > len(notes) {
			return true // does not happen
		}
		name := string(bytes.TrimRight(notes[unix.SizeofInotifyEvent:end], "\x00"))
		for _, prefix := range []string{"card", "renderD", "dri", "mx"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		notes = notes[end:]
	}
	return false
}
