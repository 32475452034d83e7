// SPDX-License-Identifier: Apache-2.0

package cdispec

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/refresh"
)

// TestKeep: a file that is gone is written again, the others stay; what cannot be written is
// tried again later.
func TestKeep(t *testing.T) {
	h := newHost(t, "c500-8")
	h.Tool = func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("it has no answer") }
	text := func() string { return h.read(spec) }
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var told []error
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.Keep(ctx, time.Second, func(_ refresh.Generation, err error) { told = append(told, err) })
		}()
		wait := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			if synctest.Wait(); len(told) != want {
				t.Fatalf("written %d times, want %d: %v", len(told), want, told)
			}
		}
		wait(time.Second, 1) // no spec is there yet
		before := text()
		wait(time.Minute, 1)
		for i, name := range []string{spec, "/var/lib/metax-container-toolkit/metax-hook", "/run/metax-container-toolkit/node.json"} {
			if err := os.Remove(h.To.Join(name)); err != nil {
				t.Fatal(err)
			}
			if wait(time.Second, i+2); !h.To.Exists(name) || text() != before {
				t.Errorf("%s is not there again: %v", name, told)
			}
		}
		hook := h.Hook
		if err := errors.Join(os.Rename(hook, hook+"-away"), os.RemoveAll(filepath.Dir(h.To.Join(spec)))); err != nil {
			t.Fatal(err)
		}
		if wait(30*time.Second, 5); told[4] == nil {
			t.Error("it has no hook, and no error")
		}
		if err := os.Rename(hook+"-away", hook); err != nil {
			t.Fatal(err)
		}
		if wait(keepPause, 6); told[5] != nil || text() != before {
			t.Errorf("the spec is not there again: %v", told[5])
		}
		stop()
		<-done
	})
}
