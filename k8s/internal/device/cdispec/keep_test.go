// SPDX-License-Identifier: Apache-2.0

package cdispec

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
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
		var mu sync.Mutex // the race detector does not know that a sleep is an order
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.Keep(ctx, time.Second, func(_ refresh.Generation, err error) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, err)
			})
		}()
		wait := func(d time.Duration, want int) (last error) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(told) != want {
				t.Fatalf("written %d times, want %d: %v", len(told), want, told)
			}
			return told[want-1]
		}
		_ = wait(time.Second, 1) // no spec is there yet
		before := text()
		_ = wait(time.Minute, 1)
		for i, name := range []string{spec, "/var/lib/metax-container-toolkit/metax-hook", "/run/metax-container-toolkit/node.json"} {
			if err := os.Remove(h.To.Join(name)); err != nil {
				t.Fatal(err)
			}
			if err := wait(time.Second, i+2); !h.To.Exists(name) || text() != before {
				t.Errorf("%s is not there again: %v", name, err)
			}
		}
		hook := h.Hook
		if err := errors.Join(os.Rename(hook, hook+"-away"), os.RemoveAll(filepath.Dir(h.To.Join(spec)))); err != nil {
			t.Fatal(err)
		}
		if wait(30*time.Second, 5) == nil {
			t.Error("it has no hook, and no error")
		}
		if err := os.Rename(hook+"-away", hook); err != nil {
			t.Fatal(err)
		}
		if err := wait(keepPause, 6); err != nil || text() != before {
			t.Errorf("the spec is not there again: %v", err)
		}
		stop()
		<-done
	})
}
