// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
)

// TestGenerateInTurn has two generates at once, the first of which is slow: it looks
// before the node changes, and would write after the second one has written.
func TestGenerateInTurn(t *testing.T) {
	root := filepath.Join(t.TempDir(), "node")
	output(t, "sim", "create", "c500-1", root)
	// slow is an mx-smi that answers when it is told to, and says when it was asked.
	slow := func() (ask mxsmi.Run, asked, answer chan struct{}) {
		asked, answer = make(chan struct{}), make(chan struct{})
		once := sync.OnceFunc(func() { close(asked) })
		return func(context.Context, string, ...string) ([]byte, error) {
			once()
			<-answer
			return nil, errors.New("not now")
		}, asked, answer
	}
	quick := func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("not now") }
	type end struct {
		code int
		said string
	}
	generate := func(ask mxsmi.Run) chan end {
		done := make(chan end, 1)
		go func() {
			var out, errs bytes.Buffer
			code := runCommandLine(t.Context(), []string{"metax-ctk", "--root", root, "cdi", "generate", "--class", "gpu"}, deps{Out: &out, Err: &errs, Run: ask})
			done <- end{code, out.String() + errs.String()}
		}()
		return done
	}
	ask, asked, answer := slow()
	first := generate(ask)
	<-asked
	if err := os.Rename(filepath.Join(root, "opt/mxdriver"), filepath.Join(root, "opt/gone")); err != nil {
		t.Fatal(err)
	}
	second := generate(quick)
	select {
	case e := <-second:
		t.Errorf("the second did not wait: %+v", e)
		second <- e
	case <-time.After(300 * time.Millisecond):
	}
	close(answer)
	for which, done := range []chan end{first, second} {
		if e := <-done; e.code != 0 {
			t.Errorf("generate %d: %+v", which+1, e)
		}
	}
	var out, errs bytes.Buffer
	if code := runCommandLine(t.Context(), []string{"metax-ctk", "--root", root, "cdi", "diff"}, deps{Out: &out, Err: &errs, Run: quick}); code != 0 {
		t.Errorf("the spec is that of before the change: exit code %d\n%s%s", code, &out, &errs)
	}

	// A command that waits for the lock can be interrupted.
	if err := os.Rename(filepath.Join(root, "opt/gone"), filepath.Join(root, "opt/mxdriver")); err != nil {
		t.Fatal(err)
	}
	ask, asked, answer = slow()
	held := generate(ask)
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if code := runCommandLine(ctx, []string{"metax-ctk", "--root", root, "cdi", "generate"}, deps{Out: &out, Err: &errs, Run: quick}); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	close(answer)
	<-held
}
