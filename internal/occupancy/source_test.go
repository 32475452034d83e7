package occupancy

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a source that answers when its time is over, or too late for anybody.
type slow struct {
	never bool
	sees  []Container
}

func (slow) Name() (engine, endpoint string) { return "docker", sock }

func (s slow) Look(ctx context.Context, _ Question) (Sight, error) {
	<-ctx.Done()
	if s.never {
		time.Sleep(time.Hour)
	}
	return Sight{Containers: s.sees, Partial: true}, ctx.Err()
}

// A source costs Patience at most, and one that minds its deadline comes to tell
// before that what it has.
func TestPatience(t *testing.T) {
	for name, c := range map[string]struct {
		source slow
		late   bool
	}{
		"hangs":               {slow{never: true}, true},
		"minds, sees nothing": {slow{}, true},
		"minds, sees some":    {slow{sees: []Container{labeled(Running)}}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			look := lookAll(t.Context(), []Source{c.source}, Question{})[0]
			if took := time.Since(begin); took > Patience || (took == Patience) != c.source.never {
				t.Errorf("%s: it cost %s", name, took)
			}
			if (look.Err == errLate) != c.late || len(look.Containers) != len(c.source.sees) {
				t.Errorf("%s: saw %v, %v", name, look.Containers, look.Err)
			}
			time.Sleep(time.Hour)
		})
	}
}
