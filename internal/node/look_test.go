// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// TestLookerLate: a look that hangs fails in time, none is started beside it, and what it
// gives in the end counts.
func TestLookerLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started atomic.Int32
		gate := make(chan struct{})
		late := health.Look{Readings: []health.Reading{{GPU: health.GPU{Index: 7}}}}
		l := node.Looker{Timeout: time.Second, Take: func(context.Context) (health.Look, error) {
			started.Add(1)
			<-gate
			return late, nil
		}}
		for range 3 {
			if look, err := l.Look(t.Context()); err != nil || look.Failed != "no answer within 1s" {
				t.Errorf("got %+v, %v", look, err)
			}
		}
		if started.Load() != 1 {
			t.Errorf("%d looks were started", started.Load())
		}
		close(gate)
		if look, err := l.Look(t.Context()); err != nil || look.Failed != "" || len(look.Readings) != 1 {
			t.Errorf("got %+v, %v", look, err)
		}
		if look, err := l.Look(t.Context()); err != nil || len(look.Readings) != 1 || started.Load() != 2 {
			t.Errorf("got %+v, %v after %d looks", look, err, started.Load())
		}
	})
}

func TestLookerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l := node.Looker{Timeout: time.Hour, Take: func(ctx context.Context) (health.Look, error) {
			time.Sleep(time.Minute)
			return health.Look{}, ctx.Err()
		}}
		if _, err := l.Look(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute) // the look ends by itself
	})
}

// TestAskOnce: one question is asked once, other questions are asked.
func TestAskOnce(t *testing.T) {
	runs := 0
	s := node.Selector{
		Library: func(context.Context, ...string) ([]byte, error) { runs++; return nil, errors.New("no library") },
		Run:     func(context.Context, string, ...string) ([]byte, error) { runs++; return []byte("text"), nil },
	}.AskOnce()
	for range 2 {
		if _, err := s.Library(t.Context(), "lib", "node"); err == nil {
			t.Error("the failure is forgotten")
		}
		for _, args := range [][]string{{"-L"}, {"topo", "-m"}} {
			if text, err := s.Run(t.Context(), "mx-smi", args...); string(text) != "text" || err != nil {
				t.Errorf("%v: %q, %v", args, text, err)
			}
		}
	}
	if runs != 3 {
		t.Errorf("%d runs, want 3", runs)
	}
	if none := (node.Selector{}).AskOnce(); none.Library != nil || none.Run != nil {
		t.Error("there are programs")
	}
}
