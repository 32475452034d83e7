package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal.
func tty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// How far a run is is shown on a terminal, which is left as it was.
func TestTraceProgress(t *testing.T) {
	master, slave := tty(t)
	done, stop := toolkit{deps: deps{Err: slave}}.progress(false, 4)
	if done == nil {
		t.Fatal("nothing is counted")
	}
	done.Add(1)
	guard := time.AfterFunc(time.Minute, func() { fmt.Fprint(slave, "!") }) // so that a failure ends
	defer guard.Stop()
	text, stopped := "", false
	for buffer := make([]byte, 4096); !strings.Contains(text, "!"); {
		n, err := master.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		if text += string(buffer[:n]); strings.Contains(text, "25%") && !stopped {
			stop()
			stopped = true
			fmt.Fprint(slave, "!")
		}
	}
	if !strings.HasPrefix(text, "\r\x1b[K[#######.......................] 25%") || !strings.HasSuffix(text, "25%\r\x1b[K!") {
		t.Errorf("on the terminal: %q", text)
	}
}

// What is not a terminal sees no progress, and neither does one that does not want
// it, nor one on which the run was over before there was any.
func TestTraceWithoutProgress(t *testing.T) {
	master, slave := tty(t)
	var pipe bytes.Buffer
	for name, c := range map[string]struct {
		err   io.Writer
		hide  bool
		count bool
	}{
		"no terminal":   {&pipe, false, false},
		"--no-progress": {slave, true, false},
		"short":         {slave, false, true},
	} {
		done, stop := toolkit{deps: deps{Err: c.err}}.progress(c.hide, 1)
		stop()
		if (done != nil) != c.count {
			t.Errorf("%s: counted: %v, want %v", name, done != nil, c.count)
		}
	}
	fmt.Fprint(slave, "!")
	buffer := make([]byte, 4096)
	if n, err := master.Read(buffer); string(buffer[:n]) != "!" || pipe.Len() > 0 {
		t.Errorf("%q on the terminal, %q in the pipe, %v", buffer[:n], pipe.String(), err)
	}
}

// A run that is interrupted prints nothing.
func TestTraceInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := run(ctx, []string{"metax-ctk", "--node", "c500-8", "sim", "trace", "--generate"}, deps{Out: &out, Err: &errs})
	if code != exitInterrupted || out.Len() > 0 || errs.Len() > 0 {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
	}
}

// A trace that never comes does not keep the program from ending.
func TestTraceInterruptedWhileReading(t *testing.T) {
	silent, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"metax-ctk", "--node", "c500-8", "sim", "trace", "-"}, deps{In: silent, Out: io.Discard, Err: io.Discard})
	}()
	fmt.Fprintln(writer, "arrival,gpus,duration") // it has begun to read
	cancel()
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit code %d, want %d", got, exitInterrupted)
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		done, all int
		want      string
	}{
		{0, 0, "[..............................] 0%"},
		{1, 3, "[##########....................] 33%"},
		{7_000_000, 7_000_000, "[##############################] 100%"},
	} {
		if got := bar(c.done, c.all); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.done, c.all, got, c.want)
		}
	}
}
