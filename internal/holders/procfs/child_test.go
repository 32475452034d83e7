// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/test/needs"
)

// asChild makes this program a child that opens the files named in the variable, with O_PATH
// where "@" stands before the name, says so, and stays until its input ends.
const asChild = "PROCFS_TEST_OPEN"

// leaderEnds makes the child's first thread end before that.
const leaderEnds = "PROCFS_TEST_LEADER_ENDS"

// duplicates makes the child have so many more descriptors.
const duplicates = "PROCFS_TEST_DUPLICATES"

// passes makes the child send what it has opened over its descriptor 3; receives makes it
// receive as many descriptors there.
const (
	passes   = "PROCFS_TEST_PASSES"
	receives = "PROCFS_TEST_RECEIVES"
)

// takes makes the child take a descriptor of another process, as "PID:DESCRIPTOR", without
// that process.
const takes = "PROCFS_TEST_TAKES"

// maps makes the child map a page of each file that it opened, and close the file.
const maps = "PROCFS_TEST_MAPS"

// unshares makes another thread of the child open the files, with descriptors of its own.
const unshares = "PROCFS_TEST_UNSHARES"

// becomes makes the child take the name of a client to be, and run itself anew without the
// variable once it has read a byte.
const becomes = "PROCFS_TEST_BECOMES"

func TestMain(m *testing.M) {
	if os.Getenv(becomes) != "" {
		go become() // on another thread than the first, which stays with main
		select {}
	}
	if names, ok := os.LookupEnv(asChild); ok {
		// Yama lets none but parents take descriptors, unless a process allows it.
		unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
		stay(strings.Split(names, ":"))
	}
	os.Exit(m.Run())
}

func init() {
	if os.Getenv(leaderEnds)+os.Getenv(becomes)+os.Getenv(unshares) != "" {
		runtime.LockOSThread() // main stays on the first thread
	}
}

func become() {
	os.Unsetenv(becomes)
	procfs.MarkLeased()
	os.Stdout.WriteString("ready\n")
	os.Stdin.Read(make([]byte, 1))
	unix.Exec("/proc/self/exe", os.Args, os.Environ())
	os.Exit(6)
}

// openAll opens the files, and does with them what the variables say.
func openAll(names []string) {
	for _, name := range names {
		if name == "" {
			continue
		}
		flags := unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC
		if path, ok := strings.CutPrefix(name, "@"); ok {
			name, flags = path, unix.O_PATH|unix.O_CLOEXEC
		}
		fd, err := unix.Open(name, flags, 0)
		if err == nil && os.Getenv(maps) != "" {
			if _, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE); err == nil {
				err = unix.Close(fd)
			}
		}
		if err == nil && os.Getenv(passes) != "" {
			err = unix.Sendmsg(3, []byte{0}, unix.UnixRights(fd), nil, 0)
		}
		if err != nil {
			os.Exit(3)
		}
	}
}

// openAside opens the files on a thread with descriptors of its own, which stays.
func openAside(names []string) {
	opened := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_FILES); err != nil {
			os.Exit(7)
		}
		openAll(names)
		close(opened)
		select {}
	}()
	<-opened
}

// receiveOne waits for a descriptor that another process passes.
func receiveOne() {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(3, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n != len(rights) {
		os.Exit(8)
	}
}

// take takes a descriptor of another process.
func take(source string) {
	pid, number, _ := strings.Cut(source, ":")
	process, err := strconv.Atoi(pid)
	if err != nil {
		os.Exit(9)
	}
	descriptor, err := strconv.Atoi(number)
	if err != nil {
		os.Exit(9)
	}
	handle, err := unix.PidfdOpen(process, 0)
	if err == nil {
		_, err = unix.PidfdGetfd(handle, descriptor, 0)
	}
	if err != nil {
		os.Exit(9)
	}
}

func stay(names []string) {
	if os.Getenv(unshares) == "" {
		openAll(names)
	} else {
		openAside(names)
	}
	if os.Getenv(receives) != "" {
		receiveOne()
	}
	if source := os.Getenv(takes); source != "" {
		take(source)
	}
	if many, err := strconv.Atoi(os.Getenv(duplicates)); err == nil {
		for range many {
			if _, err := unix.Dup(0); err != nil {
				os.Exit(5)
			}
		}
	}
	wait := func() {
		os.Stdout.WriteString("ready\n")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	if os.Getenv(leaderEnds) == "" {
		wait()
	}
	go wait()
	unix.Syscall(unix.SYS_EXIT, 0, 0, 0) // the thread, not the process
}

// child is a running child; it ends with the test.
type child struct {
	*exec.Cmd
	stdin io.WriteCloser
}

// start runs this program as a child that has the files open.
func start(t testing.TB, open []string, env []string, args ...string) *child {
	t.Helper()
	return startAs(t, os.Args[0], open, env, args...)
}

// startAs is start with another path to this program, or to a copy.
func startAs(t testing.TB, program string, open []string, env []string, args ...string) *child {
	t.Helper()
	return startWith(t, exec.Command(program, args...), open, env)
}

// startWith is start with a command that has more than a program and its arguments.
func startWith(t testing.TB, cmd *exec.Cmd, open []string, env []string) *child {
	t.Helper()
	cmd.Env = append(append(os.Environ(), asChild+"="+strings.Join(open, ":")), env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, stdin}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return c
}

// die ends the child and leaves it a zombie.
func (c *child) die(t *testing.T) {
	t.Helper()
	c.stdin.Close()
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, c.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
}

// asNobody calls f as a user who may not look into root's processes. It is a thread that is
// the user, so nothing f does may be left to others.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	needs.Root(t, "to give processes to others")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // else a walk is
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		if _, _, errno := unix.RawSyscall(unix.SYS_SETFSUID, 65534, 0, 0); errno != 0 {
			done <- errno
			return
		}
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var rights [2]unix.CapUserData
		if err := unix.Capget(&header, &rights[0]); err != nil {
			done <- err
			return
		}
		rights[0].Effective &^= 1 << unix.CAP_SYS_PTRACE
		if err := unix.Capset(&header, &rights[0]); err != nil {
			done <- err
			return
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
