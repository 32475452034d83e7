package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// SourceTimeout is how long the keeper waits for a source that does not answer. The
// context of Look ends a fifth earlier, so that a source can return what it has.
const SourceTimeout = 200 * time.Millisecond

// WalkTimeout is when the context of a Progressing source ends. The source has
// SourceTimeout beyond that to return what it has.
const WalkTimeout = 2 * time.Second

// Source is one place to look for holders of GPUs.
type Source interface {
	// Name is the engine or Processes, and the endpoint: what a Lease carries
	// as Engine and Endpoint.
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

// complete reports whether the look shows all that is there.
func (l Look) complete() bool { return l.Err == nil && !l.Partial }

// Progressing is a Source whose work any user can make long: it may take WalkTimeout, as
// long as Progress grows.
type Progressing interface {
	Source
	Progress() uint64
}

// pendingLook is a source that has been asked and has not answered yet.
type pendingLook struct {
	Progressing        // nil for a source that may take SourceTimeout only
	progress    uint64 // when it was last looked at
	idle        bool   // it had made none by then
}

// giveUp reports whether the keeper stops waiting for the source, at the end of another
// SourceTimeout. A source that makes progress may miss one, as it may wait for a processor.
func (a *pendingLook) giveUp(begin time.Time) bool {
	if a.Progressing == nil || time.Since(begin) > WalkTimeout+SourceTimeout/2 {
		return true
	}
	now, idle := a.Progress(), a.idle
	a.progress, a.idle = now, now == a.progress
	return idle && a.idle
}

// lookAll asks all sources at once. It abandons a source that does not answer in time.
func lookAll(ctx context.Context, sources []Source, q usage.Question) []Look {
	short, cancelShort := context.WithTimeout(ctx, SourceTimeout/5*4)
	defer cancelShort()
	long, cancelLong := context.WithTimeout(ctx, WalkTimeout)
	defer cancelLong()
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
		ctx := short
		progressing, ok := s.(Progressing)
		if ok {
			looks[i].Err, ctx = errStuck, long
		}
		waiting[i] = &pendingLook{Progressing: progressing}
		go func() {
			sight, err := s.Look(ctx, q)
			answers <- answer{i, sight, err}
		}()
	}
	again := time.NewTicker(SourceTimeout)
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
	errLate  = errors.New("no answer within " + SourceTimeout.String())
	errStuck = fmt.Errorf("%w: no progress within %s", usage.ErrUnfinished, 2*SourceTimeout)
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
