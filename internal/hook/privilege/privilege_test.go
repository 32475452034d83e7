// SPDX-License-Identifier: Apache-2.0

package privilege

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/needs"
)

// TestDropInThread: the thread keeps only the named capabilities, other threads keep
// all. test/exploits checks what Drop does to a whole process.
func TestDropInThread(t *testing.T) {
	needs.Root(t, "for capabilities to drop")
	status := func() string {
		data, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", unix.Gettid()))
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // not unlocked: the thread ends here
		// The second time, it has no CAP_SETPCAP.
		for range 2 {
			if err := DropInThread(unix.CAP_CHOWN, unix.CAP_BPF, unix.CAP_DAC_READ_SEARCH); err != nil {
				t.Error(err)
			}
		}
		want := fmt.Sprintf("%016x", 1<<unix.CAP_CHOWN|1<<unix.CAP_BPF|1<<unix.CAP_DAC_READ_SEARCH)
		text := status()
		for _, line := range []string{"CapPrm:\t" + want, "CapEff:\t" + want, "CapBnd:\t" + want, "CapInh:\t0000000000000000", "NoNewPrivs:\t1"} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("no %q in\n%s", line, text)
			}
		}
		if err := DropInThread(unix.CAP_SYS_ADMIN); err != nil {
			t.Error(err)
		}
		if text := status(); !strings.Contains(text, "CapEff:\t0000000000000000\n") {
			t.Errorf("it gained something:\n%s", text)
		}
	}()
	<-done
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if text := status(); strings.Contains(text, "CapEff:\t0000000000000000\n") {
		t.Errorf("another thread lost its capabilities:\n%s", text)
	}
}

func TestCloseOnExec(t *testing.T) {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := closeOnExec(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fd   int
		want bool
	}{{fd, true}, {2, false}} {
		flags, err := unix.FcntlInt(uintptr(c.fd), unix.F_GETFD, 0)
		if err != nil && !errors.Is(err, unix.EBADF) {
			t.Fatal(err)
		}
		if got := flags&unix.FD_CLOEXEC != 0; err == nil && got != c.want {
			t.Errorf("file %d is closed on exec: %v, want %v", c.fd, got, c.want)
		}
	}
}
