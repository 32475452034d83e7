// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// daemon is a process of a host that serves. It may be ended and started again.
type daemon struct {
	sandbox.Daemon
	argv []string
}

// daemon starts a process that serves until the test ends, and waits until ready answers.
// Its log is shown if the test fails.
func (h *host) daemon(t *testing.T, ready func(context.Context) error, argv ...string) *daemon {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	command := func() *exec.Cmd { return h.Command(context.Background(), nil, argv[0], argv[1:]...) }
	d := &daemon{sandbox.Daemon{Command: command, Ready: ready, Log: log}, argv}
	t.Cleanup(func() {
		d.stop(t)
		log.Close()
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", d.argv[0], d.Tail(40))
		}
	})
	d.start(t)
	return d
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := d.Start(ctx); err != nil {
		t.Fatalf("start %s: %v", d.argv[0], err)
	}
}

// stop ends the daemon in good order, kill in none. Neither minds one that has ended.
func (d *daemon) stop(t *testing.T) { d.end(t, d.Stop) }
func (d *daemon) kill(t *testing.T) { d.end(t, d.Kill) }

func (d *daemon) end(t *testing.T, how func() error) {
	t.Helper()
	if err := how(); err != nil {
		t.Errorf("end %s: %v", d.argv[0], err)
	}
}
