// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHanging makes every program and daemon hang: doctor still finds what the files
// show, and reports everything that hangs.
func TestHanging(t *testing.T) {
	t.Parallel()
	b := newBench(t, "c500-8")
	b.info = nil
	b.write()
	hang := func(ctx context.Context, path string, _ ...string) ([]byte, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("run %s: %w", path, ctx.Err())
	}
	b.c.Ask, b.c.SMI = hang, hang
	b.c.Library = func(ctx context.Context, args ...string) ([]byte, error) { return hang(ctx, args[0]) }
	listener, err := net.Listen("unix", b.path("var/run/docker.sock"))
	b.must(err)
	t.Cleanup(func() { listener.Close() })
	b.must(os.Chmod(b.path(gpuSpec), 0o600))

	var got []string
	for _, f := range b.findings() {
		got = append(got, fmt.Sprintf("%s %s", f.Severity, f.Check))
	}
	want := []string{
		"error spec-readable", "warning mx-smi-answers", "warning libmxsml-answers", "warning docker-version", "warning docker-answers",
		"warning containerd-version", "warning podman-version", "warning crio-version",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestStuck has a program that cannot be killed: doctor does not wait for it.
func TestStuck(t *testing.T) {
	t.Parallel()
	b := newBench(t, "c500-8")
	b.write()
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	b.c.SMI = func(context.Context, string, ...string) ([]byte, error) { <-end; return nil, errors.New("ended") }
	if got := b.findings(); len(got) != 1 || got[0].Check != "looked" {
		t.Errorf("%v", got)
	}
}

// TestCanceled: a cancelled call returns no report.
func TestCanceled(t *testing.T) {
	t.Parallel()
	b := newBench(t, "c500-1")
	b.write()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Collect(ctx, b.c); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
