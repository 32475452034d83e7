package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/test/e2e/internal/sandbox"
)

// daemon is a process that serves. It may be ended and started again.
type daemon struct {
	host  *host
	argv  []string
	ready func(context.Context) error
	// log is a file: a pipe would stay open as long as any child of a killed daemon.
	log   *os.File
	cmd   *exec.Cmd
	ended chan struct{}
}

// daemon starts a process that serves until the test ends, and waits until ready answers.
// Its log is shown if the test fails.
func (h *host) daemon(t *testing.T, ready func(context.Context) error, argv ...string) *daemon {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{host: h, argv: argv, ready: ready, log: log}
	t.Cleanup(func() {
		d.stop(t)
		log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			t.Logf("end of the log of %s:\n%s", argv[0], strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
	})
	d.start(t)
	return d
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	cmd := d.host.Command(context.Background(), nil, d.argv[0], d.argv[1:]...)
	cmd.Stdout, cmd.Stderr = d.log, d.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait() // how it ended is in its log
		close(ended)
	}()
	d.cmd, d.ended = cmd, ended
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := d.ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended before it was ready", d.argv[0])
		case <-ctx.Done():
			t.Fatalf("%s is not ready: %v", d.argv[0], err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the daemon in good order, kill in none. Neither minds one that has ended.
func (d *daemon) stop(t *testing.T) { d.end(t, syscall.SIGTERM) }
func (d *daemon) kill(t *testing.T) { d.end(t, syscall.SIGKILL) }

func (d *daemon) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if d.cmd == nil {
		return
	}
	if pid, err := sandbox.Inner(context.Background(), d.cmd); err == nil {
		syscall.Kill(pid, signal)
	}
	select {
	case <-d.ended:
	case <-time.After(15 * time.Second):
		t.Errorf("%s does not stop", d.argv[0])
		d.cmd.Process.Kill()
		<-d.ended
	}
	d.cmd = nil
}
