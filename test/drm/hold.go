// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hold uses a node in a way, says so, and does not return.
func hold(way, node string) error {
	var failed error
	switch way {
	case "path":
		_, failed = unix.Open(node, unix.O_PATH, 0)
	case "open":
		_, failed = unix.Open(node, unix.O_RDWR, 0)
	case "map":
		failed = mapAndClose(node)
	case "send":
		failed = send(node)
	case "thread":
		runtime.LockOSThread() // the first thread stays here, and the other does not become it
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			err := unix.Unshare(unix.CLONE_FILES)
			if err == nil {
				_, err = unix.Open(node, unix.O_RDWR, 0)
			}
			done <- err
			select {}
		}()
		failed = <-done
	case "block":
		failed = block(node)
	}
	if failed != nil {
		return failed
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
	return nil
}

// request makes an ioctl of DRM that reads and writes its argument.
func request(fd int, number uintptr, size uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), 3<<30|size<<16|'d'<<8|number, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// mapAndClose maps a buffer of the device and closes the file.
func mapAndClose(node string) error {
	fd, err := unix.Open(node, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	buffer := struct {
		height, width, bits, flags, handle, pitch uint32
		size                                      uint64
	}{height: 16, width: 64, bits: 32}
	if err := request(fd, 0xB2, unsafe.Sizeof(buffer), unsafe.Pointer(&buffer)); err != nil {
		return fmt.Errorf("make a buffer: %w", err)
	}
	place := struct {
		handle, pad uint32
		offset      int64
	}{handle: buffer.handle}
	if err := request(fd, 0xB3, unsafe.Sizeof(place), unsafe.Pointer(&place)); err != nil {
		return fmt.Errorf("find a buffer: %w", err)
	}
	_, err = unix.Mmap(fd, place.offset, int(buffer.size), unix.PROT_READ, unix.MAP_SHARED)
	return err
}

// send sends the only descriptor, which nobody receives.
func send(node string) error {
	fd, err := unix.Open(node, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(fd), nil, 0)
}

// block has the kernel write the device's address into a page that never comes, which it does
// under a lock of the device.
func block(node string) error {
	fd, err := unix.Open(node, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	version := [4]int32{1, 4, -1, -1} // from this version of the interface on there is an address
	if err := request(fd, 0x07, unsafe.Sizeof(version), unsafe.Pointer(&version)); err != nil {
		return fmt.Errorf("set the version: %w", err)
	}
	faults, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)
	if errno != 0 {
		return errno
	}
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	at := uint64(uintptr(unsafe.Pointer(&page[0])))
	api := [3]uint64{0xAA}
	region := [4]uint64{at, uint64(len(page)), 1}
	const uffdioAPI, uffdioRegister = 3<<30 | 24<<16 | 0xAA<<8 | 0x3F, 3<<30 | 32<<16 | 0xAA<<8
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, faults, uffdioAPI, uintptr(unsafe.Pointer(&api))); errno != 0 {
		return errno
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, faults, uffdioRegister, uintptr(unsafe.Pointer(&region))); errno != 0 {
		return errno
	}
	unique := [2]uint64{uint64(len(page)), at}
	go request(fd, 0x01, unsafe.Sizeof(unique), unsafe.Pointer(&unique)) //nolint:errcheck // it does not return
	time.Sleep(500 * time.Millisecond)
	return nil
}
