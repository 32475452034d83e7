// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// LookTimeout is how long a source may take: an engine on a busy node answers late, and any
// user can make the look at processes long. The context of Look ends then.
const LookTimeout = 2 * time.Second

// lookTurn is how long after LookTimeout a source may return what it has, and how often
// the keeper looks at a Progressing source.
const lookTurn = 200 * time.Millisecond

// Source is one place to look for holders of GPUs.
type Source interface {
	// Name is the engine or Processes, and the endpoint: what a Lease carries as Engine and
	// Endpoint.
	Name() (engine, endpoint string)
	// Look returns what is there now; beside an error it returns what it could see. It
	// keeps the context's deadline as far as the system lets it.
	Look(ctx context.Context, q usage.Question) (usage.Sight, error)
}

// Look is the answer of one source.
type Look struct {
	Engine, Endpoint string
	usage.Sight
	Err error
}

// sawEverything reports whether the look shows all that is there.
func (l Look) sawEverything() bool { return l.Err == nil && !l.Partial }

// Progressing is a Source that shows whether it works. The keeper stops waiting for it when
// Progress no longer grows.
type Progressing interface {
	Source
	Progress() uint64
}

// pendingLook is a source that has been asked and has not answered yet.
type pendingLook struct {
	Progressing        // nil for a source that does not show its progress
	progress    uint64 // when it was last looked at
	idle        bool   // it had made none by then
}

// giveUp reports whether the keeper stops waiting for the source, at the end of another
// lookTurn. A source that makes progress may miss one, as it may wait for a processor.
func (a *pendingLook) giveUp(begin time.Time) bool {
	if late := time.Since(begin) > LookTimeout+lookTurn/2; late || a.Progressing == nil {
		return late
	}
	now, idle := a.Progress(), a.idle
	a.progress, a.idle = now, now == a.progress
	return idle && a.idle
}

// lookAll asks all sources at once. It abandons a source that does not answer in time.
func lookAll(ctx context.Context, sources []Source, q usage.Question) []Look {
	ctx, cancel := context.WithTimeout(ctx, LookTimeout)
	defer cancel()
	looks := make([]Look, len(sources))
	type answer struct {
		i int
		usage.Sight
		err error
	}
	answers := make(chan answer, len(sources))
	waiting := map[int]*pendingLook{}
	for i, s := range sources {
		looks[i].Engine, looks[i].Endpoint = s.Name()
		looks[i].Err = errLate
		progressing, ok := s.(Progressing)
		if ok {
			looks[i].Err = errStuck
		}
		waiting[i] = &pendingLook{Progressing: progressing}
		go func() {
			sight, err := s.Look(ctx, q)
			answers <- answer{i, sight, err}
		}()
	}
	again := time.NewTicker(lookTurn)
	defer again.Stop()
	for begin := time.Now(); len(waiting) > 0; {
		select {
		case a := <-answers:
			delete(waiting, a.i)
			looks[a.i].Sight, looks[a.i].Err = printable(a.Sight), a.err
			// Beside a sight, the error says whose answer is missing.
			if errors.Is(a.err, context.DeadlineExceeded) && !errors.Is(a.err, usage.ErrUnfinished) && len(a.Containers) == 0 {
				looks[a.i].Err = errLate
			}
		case <-again.C:
			for i, s := range waiting {
				if s.giveUp(begin) {
					delete(waiting, i)
				}
			}
		}
	}
	return looks
}

// The errors of sources that hang.
var (
	errLate  = errors.New("no answer within " + LookTimeout.String())
	errStuck = fmt.Errorf("%w: no progress within %s", usage.ErrUnfinished, 2*lookTurn)
)

// printable returns the sight with its text made fit for a terminal and for the state
// file, which takes no other. Users of the host wrote that text.
func printable(s usage.Sight) usage.Sight {
	for i := range s.Containers {
		c := &s.Containers[i]
		for _, text := range []*string{&c.Namespace, &c.ID, &c.Name, &c.Image, &c.Lease} {
			if !terminal.Clean(*text) {
				*text = terminal.Line(*text)
			}
		}
	}
	for i := range s.Processes {
		if p := &s.Processes[i]; !terminal.Clean(p.Command) {
			p.Command = terminal.Line(p.Command)
		}
	}
	return s
}
