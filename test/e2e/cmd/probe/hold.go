// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/report"
)

// hold takes the lock of every GPU whose node is here, in the directory that all containers of
// a storm report into. A lock that somebody has is a GPU of two containers: the kernel says
// so, for every instant in which both live, and lets go of the locks of whoever is killed.
func hold(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a name and a time")
	}
	name := args[0]
	d, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	nodes, err := filepath.Glob("/dev/dri/card*")
	if err != nil {
		return err
	}
	var cards []string
	for _, node := range nodes {
		card := filepath.Base(node)
		cards = append(cards, card)
		lock, err := os.OpenFile(filepath.Join(report.Dir, report.Lock+card), os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			return err
		}
		defer lock.Close()
		switch err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EWOULDBLOCK):
			other, _ := os.ReadFile(lock.Name())
			if err := tell(report.Violation+name+"-"+card, name+" has "+card+", which belongs to "+string(other)); err != nil {
				return err
			}
		case err != nil:
			return fmt.Errorf("lock %s: %w", lock.Name(), err)
		default:
			if err := os.WriteFile(lock.Name(), []byte(name), 0o666); err != nil {
				return err
			}
		}
	}
	if err := tell(report.Held+name, strings.Join(cards, " ")); err != nil {
		return err
	}
	select {
	case <-time.After(d):
	case <-term:
	}
	return nil
}

func tell(file, text string) error {
	return os.WriteFile(filepath.Join(report.Dir, file), []byte(text), 0o666)
}
