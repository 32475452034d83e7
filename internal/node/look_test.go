package node_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// TestLookerLate: a look that hangs fails in time, none is started beside it, and what it gives
// in the end counts.
func TestLookerLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, gate := 0, make(chan struct{})
		late := health.Look{Readings: []health.Reading{{GPU: health.GPU{Index: 7}}}}
		l := node.Looker{Timeout: time.Second, Take: func(context.Context) (health.Look, error) {
			started++
			<-gate
			return late, nil
		}}
		for range 3 {
			if look, err := l.Look(t.Context()); err != nil || look.Failed != "no answer within 1s" {
				t.Errorf("got %+v, %v", look, err)
			}
		}
		if started != 1 {
			t.Errorf("%d looks were started", started)
		}
		close(gate)
		if look, err := l.Look(t.Context()); err != nil || look.Failed != "" || len(look.Readings) != 1 {
			t.Errorf("got %+v, %v", look, err)
		}
		if look, err := l.Look(t.Context()); err != nil || len(look.Readings) != 1 || started != 2 {
			t.Errorf("got %+v, %v after %d looks", look, err, started)
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
