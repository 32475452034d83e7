package procfs

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// lookAtContainers returns the containers that a monitor of the engine stands over: those that run, are
// paused, or were made ready to start. All of them count as running, since they
// are about to if they are not. Containers that were only created, or have
// exited, have no monitor and are not seen. One whose bundle cannot be read is
// left out, since its facts would be kept.
func (r *round) lookAtContainers(ctx context.Context, q usage.Question, engine string) (usage.Sight, error) {
	list := r.roster(ctx, q)
	var sight usage.Sight
	missed, why := 0, error(nil)
	for _, m := range list.monitors {
		if m.engine != engine {
			continue
		}
		if ctx.Err() != nil {
			sight.Partial = true
			return sight, ctx.Err()
		}
		c := usage.Container{
			Engine: engine, ID: m.id, State: usage.Running, Init: m.init,
			Started: strconv.FormatUint(m.client.Start, 10),
		}
		var known bool
		if c.Facts, known = q.Seen[c.Key()]; !known {
			var err error
			if c.Facts, err = r.proc.facts(m, r.devices); err != nil {
				if !r.proc.over(m, err) {
					missed, why = missed+1, err
				}
				continue
			}
		}
		sight.Containers = append(sight.Containers, c)
	}
	err := unread(engine, missed, why)
	if list.err != nil || list.hidden {
		err = incomplete(list.err, list.hidden, 0)
	}
	sight.Partial = err != nil
	return sight, err
}

// over reports whether a bundle could not be read because its container has ended
// and been removed: the monitor stays on until all of it is cleared away.
func (p *Proc) over(m monitor, err error) bool {
	if p.Life(m.client) == usage.Ended {
		return true
	}
	if !errors.Is(err, unix.ENOENT) {
		return false
	}
	var buf [16 << 10]byte
	// Without a first process that is pid 0, which no process has.
	text, err := readAt(unix.AT_FDCWD, p.dir+"/"+strconv.Itoa(m.init)+"/cgroup", buf[:])
	return vanished(err) || err == nil && parseCgroup(string(text)) != m.id
}

// unread is why the bundles of some containers were not read, nil for none.
func unread(engine string, n int, why error) error {
	if n == 0 {
		return nil
	}
	text := wording.Count(n, "container") + " of " + engine + " cannot be looked into"
	if refused(why) {
		text += remedy()
	}
	return fmt.Errorf("%s: %w", text, why)
}
