// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/report"
)

// stay opens a node, writes a file when it is open, and keeps it open.
func stay(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a node and a file")
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	fd, err := unix.Open(args[0], unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", args[0], err)
	}
	defer unix.Close(fd)
	if err := os.WriteFile(args[1], nil, 0o644); err != nil {
		return err
	}
	<-term
	return nil
}

// become becomes a command whose output goes into the report.
func become(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("want a command")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	for fd, name := range map[int]string{1: report.Stdout, 2: report.Stderr} {
		file, err := os.Create(filepath.Join(report.Dir, name))
		if err != nil {
			return err
		}
		if err := unix.Dup3(int(file.Fd()), fd, 0); err != nil {
			return fmt.Errorf("write to %s: %w", file.Name(), err)
		}
	}
	return syscall.Exec(path, args, os.Environ())
}

func bind(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want two directories")
	}
	if err := unix.Mount(args[0], args[1], "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", args[0], args[1], err)
	}
	return nil
}

// as becomes another user in all groups named, the first of which is the own one.
func as(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("want a user and a command")
	}
	user, list, _ := strings.Cut(args[0], ":")
	uid, err := strconv.Atoi(user)
	if err != nil {
		return err
	}
	var gids []int
	for word := range strings.SplitSeq(list, ",") {
		gid, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		gids = append(gids, gid)
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return err
	}
	if err := errors.Join(syscall.Setgroups(gids), syscall.Setgid(gids[0]), syscall.Setuid(uid)); err != nil {
		return err
	}
	return syscall.Exec(path, args[1:], os.Environ())
}
