// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// slow is a source that answers when its time is over, or too late.
type slow struct {
	never bool
	sees  []usage.Container
}

func (slow) Name() (engine, endpoint string) { return "docker", sock }

func (s slow) Look(ctx context.Context, _ usage.Question) (usage.Sight, error) {
	<-ctx.Done()
	if s.never {
		time.Sleep(time.Hour)
	}
	return usage.Sight{Containers: s.sees, Partial: true}, ctx.Err()
}

// A source costs LookTimeout and a turn at most, and one that minds its deadline comes to
// tell before that what it has.
func TestLookTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		source slow
		late   bool
	}{
		"hangs":               {slow{never: true}, true},
		"minds, sees nothing": {slow{}, true},
		"minds, sees some":    {slow{sees: []usage.Container{labeled(usage.Running)}}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			look := lookAll(t.Context(), []Source{c.source}, usage.Question{})[0]
			if took := time.Since(begin); took > LookTimeout+lookTurn || (took > LookTimeout) != c.source.never {
				t.Errorf("%s: it cost %s", name, took)
			}
			if (look.Err == errLate) != c.late || len(look.Containers) != len(c.source.sees) {
				t.Errorf("%s: saw %v, %v", name, look.Containers, look.Err)
			}
			time.Sleep(time.Hour)
		})
	}
}

// long is a Progressing source that works for a while, or gets stuck.
type long struct {
	work, stuck time.Duration
	begin       time.Time
}

func (*long) Name() (engine, endpoint string) { return usage.Processes, "" }

func (l *long) Progress() uint64 {
	return uint64(min(time.Since(l.begin), l.stuck) / (10 * time.Millisecond))
}

func (l *long) Look(ctx context.Context, _ usage.Question) (usage.Sight, error) {
	select {
	case <-time.After(l.work):
		return usage.Sight{}, nil
	case <-ctx.Done():
		return usage.Sight{Partial: true}, fmt.Errorf("%w: %w", usage.ErrUnfinished, ctx.Err())
	}
}

// A source that shows its progress may take LookTimeout, and less once it stands still.
func TestProgress(t *testing.T) {
	for name, c := range map[string]struct {
		long
		took time.Duration
		err  error
	}{
		"short":     {long{work: 100 * time.Millisecond, stuck: time.Hour}, 100 * time.Millisecond, nil},
		"long":      {long{work: 1900 * time.Millisecond, stuck: time.Hour}, 1900 * time.Millisecond, nil},
		"too long":  {long{work: time.Hour, stuck: time.Hour}, LookTimeout, usage.ErrUnfinished},
		"stuck":     {long{work: time.Hour, stuck: 0}, 2 * lookTurn, usage.ErrUnfinished},
		"stuck now": {long{work: time.Hour, stuck: 500 * time.Millisecond}, 5 * lookTurn, usage.ErrUnfinished},
	} {
		synctest.Test(t, func(t *testing.T) {
			source := c.long
			source.begin = time.Now()
			looks := lookAll(t.Context(), []Source{&source}, usage.Question{})
			if took := time.Since(source.begin); took != c.took {
				t.Errorf("%s: it cost %s, want %s", name, took, c.took)
			}
			if !errors.Is(looks[0].Err, c.err) || c.err == nil && looks[0].Err != nil {
				t.Errorf("%s: %v", name, looks[0].Err)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}

// Names of containers and programs are made fit to be printed and kept when they are
// seen.
func TestNamesOfStrangers(t *testing.T) {
	const hostile = "a\x1b[2J\u202e\nb"
	c := labeled(usage.Running, unlabeled, named("x"+hostile))
	c.Engine, c.Namespace, c.Name, c.Image, c.Lease = "containerd", hostile, hostile, hostile, hostile
	b := newBench(t, stateOf(), Look{Engine: "containerd", Sight: usage.Sight{Containers: []usage.Container{c}}},
		procs(usage.Process{PID: 9, Command: hostile, GPUs: gpus(1)}))
	if _, err := b.Take(t.Context(), wants(1)); err != nil {
		t.Fatal(err)
	}
	for key, k := range b.state.Seen {
		for _, text := range []string{key, k.Name, k.Image, k.Lease} {
			if !terminal.Clean(text) || text == "" {
				t.Errorf("kept %q", text)
			}
		}
	}
	r, err := b.Report(t.Context())
	if err != nil || len(r.Holders) != 3 || len(b.state.Seen) != 1 {
		t.Fatalf("holders %v, seen %v, %v", r.Holders, b.state.Seen, err)
	}
	for _, h := range r.Holders {
		if !terminal.Clean(h.String()) {
			t.Errorf("shown as %q", h)
		}
	}
}
