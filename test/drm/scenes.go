// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// confirm shows that lists are believed once looks have seen their entries.
func confirm() {
	if s := gc(); len(s.Emptied) != 2 || len(s.Lists) != 0 {
		fail("the first look: %+v", s)
	}
	one, two := open("open", cards[0]), open("open", cards[1])
	s := gc()
	if len(s.Lists) != 2 || s.LookedAt == 0 || len(s.Processes) != 2 || s.ListsContradicted {
		fail("a look that saw both in use: %+v", s)
	}
	if err := start("1"); err == nil || !strings.Contains(err.Error(), "all 2 are in use") {
		fail("two processes have the GPUs: %v", err)
	}
	one.end()
	two.end()
	if !byLists(func() { check(start("2"), "nobody has the GPUs") }) {
		fail("nobody has the GPUs, and processes were read")
	}
	free()
}

// free waits until no lease is left.
func free() {
	for range 100 {
		if len(gc().Leases) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	fail("a lease without a container stays")
}

// unseen shows that a GPU is in use that no look at descriptors finds in use.
func unseen() {
	for _, way := range []string{"map", "send", "thread"} {
		h := open(way, cards[1])
		check(start("1"), way+": the other GPU is free")
		free()
		const want = "GPU 1 is in use by a process that was not found"
		if err := start("device=1"); err == nil || !strings.Contains(err.Error(), want) {
			fail("%s: %v", way, err)
		}
		h.end()
		if !byLists(func() { check(start("device=1"), way+": it is over") }) {
			fail("%s: it is over, and processes were read", way)
		}
		free()
	}
	h := open("path", cards[1])
	check(start("device=1"), "a descriptor without a right")
	h.end()
	free()
}

// replace shows that the lists of a device that is made anew are others.
func replace() {
	before := open("open", cards[1])
	dir, err := filepath.EvalSymlinks("/sys/class/drm/" + filepath.Base(cards[1]) + "/device")
	check(err, "find the device")
	driver, err := filepath.EvalSymlinks(dir + "/driver")
	check(err, "find the driver")
	for _, file := range []string{"unbind", "bind"} {
		check(os.WriteFile(driver+"/"+file, []byte(filepath.Base(dir)), 0), file)
	}
	again, err := filepath.Glob(dir + "/drm/card*")
	check(err, "find the card")
	if len(again) != 1 || filepath.Base(again[0]) == filepath.Base(cards[1]) {
		fail("the number of a card with open files was given away: %v", again)
	}
	cards[1] = "/dev/dri/" + filepath.Base(again[0])
	if byLists(func() { check(start("device=1"), "the device is new, and nobody has it") }) {
		fail("the list of a new device is believed")
	}
	free()
	now := open("open", cards[1])
	old := readState().Lists
	if s := gc(); len(s.Lists) != 2 || slices.Contains(old, s.Lists[1]) || s.ListsContradicted {
		fail("the list of the new device is not confirmed: %+v", s)
	}
	before.end()
	if err := start("device=1"); err == nil {
		fail("a process has the new device, and it was given")
	}
	now.end()
}

// heldUp shows that no process can hold up a start by what it does with its GPU. Beside the
// list there is a file that it can.
func heldUp() {
	h := open("block", cards[1])
	if err := start("device=1"); err == nil || !strings.Contains(err.Error(), "is in use by process") {
		fail("a process that holds up the kernel: %v", err)
	}
	read := make(chan error)
	go func() {
		_, err := os.ReadFile("/sys/kernel/debug/dri/" + strings.TrimPrefix(filepath.Base(cards[1]), "card") + "/name")
		read <- err
	}()
	select {
	case err := <-read:
		fail("nothing was held up: %v", err)
	case <-time.After(2 * time.Second):
	}
	h.end()
	check(<-read, "the file can be read again")
}

// without shows that without debugfs a start reads processes.
func without() {
	gc()
	if !byLists(func() { check(start("2"), "with lists") }) {
		fail("with lists, and processes were read")
	}
	free()
	check(unix.Unmount("/sys/kernel/debug", 0), "unmount debugfs")
	if byLists(func() { check(start("2"), "without lists") }) {
		fail("without lists, and no processes were read")
	}
	free()
	fmt.Println("test/drm: all scenes")
}
