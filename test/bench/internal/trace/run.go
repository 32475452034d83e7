package trace

import (
	"container/heap"
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

// Options are the options of a run. The zero Options queue jobs first come, first
// served, without a time limit.
type Options struct {
	Scope key.Scope // of every job
	// Backfill lets a job that fits start before those that came earlier and do not.
	// Nothing is reserved for these, so a stream of small jobs can keep a large one
	// waiting without end.
	Backfill bool
	// Patience is how long a job waits before it gives up; nil is as long as it
	// takes. With 0 there is no queue.
	Patience *Time
	Timeline bool // fill Result.Timeline
}

// run is one trace on its way through a node. Its clock counts from the first
// arrival.
type run struct {
	picker *alloc.Picker
	policy key.Policy
	Options
	gpus    []int // ascending
	jobs    []Job
	started func(running) // for tests; may be nil

	now     Time
	free    []int // ascending
	queue   queue
	ends    ends
	tally   tally
	gauge   *gauge
	changed bool    // free is not what fragmentation was measured of
	loose   float64 // the fragmentation of free
	course  recorder
}

// all runs the whole trace.
func (r *run) all() (err error) {
	if r.gauge, err = newGauge(r.picker, r.gpus); err != nil {
		return err
	}
	r.free, r.changed = slices.Clone(r.gpus), true
	possible, err := r.possible()
	if err != nil {
		return err
	}
	for next := 0; next < len(r.jobs) || len(r.ends) > 0; {
		if err := r.advance(r.nextEvent(next)); err != nil {
			return err
		}
		for len(r.ends) > 0 && r.ends[0].end == r.now {
			r.release(heap.Pop(&r.ends).(running).gpus)
		}
		for ; next < len(r.jobs) && r.arrival(next) == r.now; next++ {
			if possible[r.jobs[next].GPUs] {
				r.queue.push(next, r.jobs[next].GPUs)
			} else {
				r.tally.never++
			}
		}
		if err := r.serve(); err != nil {
			return err
		}
	}
	return nil
}

// possible reports for each size of the trace whether the idle node can serve it.
func (r *run) possible() (map[int]bool, error) {
	possible := map[int]bool{}
	for _, j := range r.jobs {
		if _, known := possible[j.GPUs]; known {
			continue
		}
		_, ok, err := r.pick(j.GPUs)
		if err != nil {
			return nil, err
		}
		possible[j.GPUs] = ok
	}
	return possible, nil
}

func (r *run) arrival(job int) Time { return r.jobs[job].Arrival - r.jobs[0].Arrival }

// nextEvent is when next something happens: a job ends, arrives or gives up.
func (r *run) nextEvent(next int) Time {
	at := Time(-1)
	soonest := func(t Time) {
		if at < 0 || t < at {
			at = t
		}
	}
	if len(r.ends) > 0 {
		soonest(r.ends[0].end)
	}
	if next < len(r.jobs) {
		soonest(r.arrival(next))
	}
	if l := r.queue.first(everyLine); l != nil && r.Patience != nil {
		soonest(r.arrival(l.jobs[0]) + *r.Patience)
	}
	return at
}

// advance moves the clock, and measures the time that goes by.
func (r *run) advance(to Time) error {
	if to == r.now {
		return nil
	}
	if r.changed {
		var err error
		if r.loose, err = r.gauge.fragmentation(r.free); err != nil {
			return err
		}
		r.changed = false
	}
	busy, d := float64(len(r.gpus)-len(r.free)), float64(to-r.now)
	// The conversions round, whatever the machine could fuse.
	r.tally.busy += float64(busy * d)
	r.tally.fragmented += float64(r.loose * d)
	if r.Timeline {
		r.course.add(r.now, to, sums{busy, r.loose, float64(r.queue.n)})
	}
	r.now = to
	return nil
}

// serve starts what may start now, and lets those go that have waited enough.
func (r *run) serve() error {
	for {
		l := r.queue.first(func(l *line) bool { return !r.Backfill || !l.blocked })
		if l != nil && !l.blocked {
			answer, ok, err := r.pick(l.gpus)
			if err != nil {
				return err
			}
			if ok {
				r.give(r.queue.pop(l), answer)
			}
			l.blocked = !ok
			continue
		}
		// All that may start has; the first to come is the first to have enough.
		l = r.queue.first(everyLine)
		if l == nil || r.Patience == nil || r.arrival(l.jobs[0])+*r.Patience > r.now {
			return nil
		}
		r.queue.pop(l)
		r.tally.gaveUp++
	}
}

// pick requests the GPUs of a job; ok is false if it cannot have them now.
func (r *run) pick(gpus int) (alloc.Answer, bool, error) {
	if gpus > len(r.free) {
		return alloc.Answer{}, false, nil
	}
	answer, err := r.picker.Pick(alloc.Request{N: gpus, Free: r.free, Policy: r.policy, Scope: r.Scope, Sizes: alloc.Off})
	switch {
	case errors.Is(err, alloc.ErrUnmet):
		return answer, false, nil
	case err != nil:
		return answer, false, fmt.Errorf("pick %d GPUs by %v: %w", gpus, r.policy, err)
	}
	return answer, true, nil
}

// give starts a job.
func (r *run) give(job int, a alloc.Answer) {
	r.free = slices.DeleteFunc(r.free, func(g int) bool { _, taken := slices.BinarySearch(a.GPUs, g); return taken })
	r.changed = true
	now := running{end: r.now + r.jobs[job].Duration, job: job, gpus: a.GPUs}
	heap.Push(&r.ends, now)
	if len(a.GPUs) > 1 {
		r.tally.classes[a.Class]++
	}
	r.tally.waits = append(r.tally.waits, r.now-r.arrival(job))
	r.tally.started++
	if r.started != nil {
		r.started(now)
	}
}

// release takes GPUs back.
func (r *run) release(gpus []int) {
	r.free = append(r.free, gpus...)
	slices.Sort(r.free)
	r.changed = true
	r.queue.unblock()
}
