// SPDX-License-Identifier: Apache-2.0

// Command probe is the only program of the test image. It reports what a process sees in the
// container:
//
//	probe look [MAJOR:MINOR ...]   write a report; first make and open the nodes named
//	probe exit CODE                exit with CODE
//	probe wait                     say that it waits; on SIGTERM exit with 77
//	probe pause                    stay until killed: the first process of a pod
//	probe hold NAME TIME           claim the GPUs that are here, alone, for the time
//	probe tell CMD ...             become CMD, with its output in files of the report
//	probe open NODE FILE           hold the node open until killed; then make the file
//
// and on a machine whose few programs cannot do it:
//
//	probe bind FROM TO             mount the tree FROM on TO as well
//	probe as UID:GID[,GID] CMD ... become that user, then CMD
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/report"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("want a verb: see the program's comment")
	}
	switch verb, args := args[0], args[1:]; verb {
	case "look":
		return look(args)
	case "exit":
		code, err := strconv.Atoi(strings.Join(args, " "))
		if err != nil {
			return err
		}
		os.Exit(code)
	case "wait":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		if err := os.WriteFile(filepath.Join(report.Dir, report.Waiting), nil, 0o644); err != nil {
			return err
		}
		<-term
		os.Exit(report.TermCode)
	case "pause":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM, syscall.SIGINT)
		<-term
	case "hold":
		return hold(args)
	case "tell":
		return become(args)
	case "open":
		return stay(args)
	case "bind":
		return bind(args)
	case "as":
		return as(args)
	default:
		return fmt.Errorf("unknown verb %q", verb)
	}
	return nil
}

func look(make []string) error {
	nodes, err := nodes()
	if err != nil {
		return err
	}
	groups, err := os.Getgroups()
	if err != nil {
		return err
	}
	r := report.Report{UID: os.Getuid(), Groups: groups, Nodes: nodes}
	for _, number := range make {
		node, err := mknod(number)
		if err != nil {
			return err
		}
		r.Made = append(r.Made, node)
	}
	if entries, err := os.ReadDir("/opt/mxdriver/bin"); err == nil {
		for _, e := range entries {
			r.Driver = append(r.Driver, e.Name())
		}
		r.DriverWrite = errno(os.Mkdir("/opt/mxdriver/probe", 0o755))
	}
	if err := software(&r); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(report.Dir, report.Look), text, 0o644)
}

// nodes opens every character device below /dev but pseudo terminals.
func nodes() ([]report.Node, error) {
	var list []report.Node
	err := filepath.WalkDir("/dev", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == "/dev/pts" {
			return filepath.SkipDir
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil { // the entry says what lies below a mount
			return fmt.Errorf("stat %s: %w", path, err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFCHR {
			return nil
		}
		list = append(list, report.Node{
			Path: path, Major: unix.Major(st.Rdev), Minor: unix.Minor(st.Rdev),
			Mode: fmt.Sprintf("%04o", st.Mode&0o7777), Owner: fmt.Sprintf("%d:%d", st.Uid, st.Gid),
			Open: open(path),
		})
		return nil
	})
	return list, err
}

// mknod makes, opens and removes the character device "MAJOR:MINOR".
func mknod(number string) (report.Node, error) {
	var n report.Node
	if _, err := fmt.Sscanf(number, "%d:%d", &n.Major, &n.Minor); err != nil {
		return n, fmt.Errorf("read the device number %q: %w", number, err)
	}
	n.Path = "/made-" + strings.ReplaceAll(number, ":", "-")
	if n.Mknod = errno(unix.Mknod(n.Path, unix.S_IFCHR|0o666, int(unix.Mkdev(n.Major, n.Minor)))); n.Mknod == "" {
		n.Open = open(n.Path)
		return n, os.Remove(n.Path)
	}
	return n, nil
}

func open(path string) string {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err == nil {
		unix.Close(fd)
	}
	return errno(err)
}

func errno(err error) string {
	var no syscall.Errno
	switch e := err.(type) {
	case nil:
		return ""
	case *fs.PathError:
		return errno(e.Err)
	case syscall.Errno:
		no = e
	default:
		return err.Error()
	}
	return unix.ErrnoName(no)
}
