// SPDX-License-Identifier: Apache-2.0

package kmsg_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/kmsg"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// device is the kernel's log of this machine.
const device = "/dev/kmsg"

// TestRealLog lets root write messages of the whole form to the real kernel's log, with
// priorities that claim to be the kernel's, and crash a process whose name is like the form:
// none of them is an error of a GPU. No GPU has these addresses.
func TestRealLog(t *testing.T) {
	needs.Root(t, "to write to the kernel's log")
	node := []gpu.GPU{{BDF: gpu.BDF{Domain: 0xfffe, Bus: 0xfd, Device: 0x1e, Function: 5}}, {BDF: gpu.BDF{Function: 1}}}
	message := fmt.Sprintf("METAX.BFFFEFDF5.SMI.ERROR EID (fffe:fd:1e.5): 0x2202, test %d", os.Getpid())
	priorities := []string{"", "<0>", "<3>", "<7>", "<03>", "<8>", "<11>", "<187>", "<2047>", "<2048>", "<2051>", "<4294967299>"}
	for _, priority := range priorities {
		writeLine(t, priority+message)
	}
	for _, line := range []string{"<-5>" + message, "<3><3>" + message, "<3>x\n" + message, "<3>x\r" + message, "3,7,99,-;" + message} {
		writeLine(t, line)
	}
	crash(t)
	marker := fmt.Sprintf("the last line of the test %d", os.Getpid())
	writeLine(t, marker)

	whole, crashed := 0, false
	var log kmsg.Log
	for _, record := range readRecords(t, marker) {
		if m, added := log.Add(record, node); added {
			t.Errorf("an error of a GPU is %q: %+v", record, m)
		}
		head, text, _ := strings.Cut(record, ";")
		text, _, _ = strings.Cut(text, "\n")
		priority, rest, _ := strings.Cut(head, ",")
		ofKernel := len(priority) == 1 && priority < "8"
		crashed = crashed || (ofKernel && strings.HasPrefix(text, crasher+"["))
		if text == message { // nothing but the facility keeps it from being one
			whole++
			if _, added := new(kmsg.Log).Add("3,"+rest+";"+text, node); !added {
				t.Errorf("the message is not of the form: %s", text)
			}
		}
	}
	if whole != len(priorities) {
		t.Errorf("%d messages of the whole form in the log, want %d", whole, len(priorities))
	}
	if traces, err := os.ReadFile("/proc/sys/debug/exception-trace"); err == nil && string(traces) == "1\n" && !crashed {
		t.Errorf("the kernel did not log that %s crashed", crasher)
	}
	var all kmsg.Log
	f := openLog(t)
	if err := all.ReadAll(f, node); err != nil || len(all.GPUs) > 0 || all.Next == 0 {
		t.Errorf("the whole log has %+v, %v", all, err)
	}
}

// writeLine writes a line to the kernel's log, which takes only a few from one open file.
func writeLine(t *testing.T, line string) {
	t.Helper()
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(line + "\n") // without the end it waits for more
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readRecords returns the records of the kernel's log up to one with the text.
func readRecords(t *testing.T, last string) (records []string) {
	t.Helper()
	conn, err := openLog(t).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, kmsg.MaxRecord)
	for {
		n := 0
		controlErr := conn.Read(func(fd uintptr) bool { n, err = unix.Read(int(fd), buffer); return true })
		switch {
		case errors.Is(err, unix.EPIPE): // overwritten
			continue
		case err != nil || controlErr != nil:
			t.Fatalf("the log has no %q: %v, %v; is it off? (sysctl kernel.printk_devkmsg)", last, err, controlErr)
		}
		records = append(records, string(buffer[:n]))
		if strings.HasSuffix(records[len(records)-1], ";"+last+"\n") {
			return records
		}
	}
}

func openLog(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(device, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// crasher is the name of a process that looks like the beginning of a message.
const crasher = "MXCD.B1.X.ERROR"

// crash runs a program of that name that jumps to an address without code.
func crash(t *testing.T) {
	t.Helper()
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	copy(program[24:32], bytes.Repeat([]byte{0}, 8)) // e_entry of a 64-bit ELF file
	path := filepath.Join(t.TempDir(), crasher)
	testfile.Write(t, path, program, 0o755)
	cmd := exec.Command("sh", "-c", `ulimit -c 0; exec "$0"`, path)
	cmd.Dir = filepath.Dir(path)
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGSEGV {
		t.Fatalf("%s did not crash: %v", crasher, err)
	}
}
