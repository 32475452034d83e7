package trace

// Timeline is the course of a run in equal steps, from the first arrival on. The
// last step ends with the makespan, and so may be shorter.
type Timeline struct {
	Step   Time
	Points []Point
}

// Point is the mean over one step.
type Point struct {
	Utilisation   float64 // share of GPUs that jobs had
	Fragmentation float64 // as the gauge defines it
	Waiting       float64 // jobs in the queue
}

// MaxPoints is the greatest number of points of a Timeline. It is even.
const MaxPoints = 400

// sums are integrals over the time of a step.
type sums struct{ busy, fragmented, waiting float64 }

func (s sums) plus(o sums) sums {
	return sums{s.busy + o.busy, s.fragmented + o.fragmented, s.waiting + o.waiting}
}

// recorder keeps a course of unknown length in at most MaxPoints steps: whenever
// it outgrows them, they become twice as long, two becoming one.
type recorder struct {
	step  Time
	steps []sums
}

// add records a stretch of time during which nothing changed; rate is what is the
// case in it. Stretches follow one another.
func (r *recorder) add(from, to Time, rate sums) {
	if r.step == 0 {
		r.step = Millisecond
	}
	for to > MaxPoints*r.step {
		r.coarsen()
	}
	for from < to {
		at := int(from / r.step)
		for len(r.steps) <= at {
			r.steps = append(r.steps, sums{})
		}
		until := min(to, Time(at+1)*r.step)
		d := float64(until - from)
		r.steps[at] = r.steps[at].plus(sums{float64(rate.busy * d), float64(rate.fragmented * d), float64(rate.waiting * d)})
		from = until
	}
}

func (r *recorder) coarsen() {
	half := r.steps[:0]
	for i := 0; i < len(r.steps); i += 2 {
		s := r.steps[i]
		if i+1 < len(r.steps) {
			s = s.plus(r.steps[i+1])
		}
		half = append(half, s)
	}
	r.steps, r.step = half, 2*r.step
}

// timeline has points of the given step, which is one that the recorder has come
// or could come to, up to the end of the run.
func (r *recorder) timeline(step, makespan Time, gpus int) *Timeline {
	for r.step < step {
		r.coarsen()
	}
	t := &Timeline{Step: r.step, Points: []Point{}}
	for i, s := range r.steps {
		d := float64(min(r.step, makespan-Time(i)*r.step))
		t.Points = append(t.Points, Point{
			Utilisation: round6(s.busy / float64(d*float64(gpus))), Fragmentation: round6(s.fragmented / d), Waiting: round6(s.waiting / d),
		})
	}
	return t
}
