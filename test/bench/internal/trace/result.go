package trace

import (
	"math"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Result is what became of a trace by one policy. Shares are from 0 to 1, rounded
// to six places; a share of nothing is 0.
type Result struct {
	Policy string
	// Jobs = Started + GaveUp + Never.
	Jobs    int
	Started int
	GaveUp  int // waited as long as they would, and were not served
	Never   int // want what this node could not even give them if it were idle
	// Acceptance is the share of jobs that started.
	Acceptance float64
	// Linked is the share of those started jobs of two or more GPUs that have a ring
	// of MetaXLink, and so lie within one link domain.
	Linked float64
	// Classes counts the started jobs of two or more GPUs by the worst link that
	// their ring needs, best class first, without those that no job needs.
	Classes []ClassCount
	// Wait is how long started jobs waited. Of the median and the 95th percentile at
	// least so large a part of them waited no longer.
	WaitMean   Time
	WaitMedian Time
	WaitP95    Time
	// Makespan is from the first arrival to the last arrival or end.
	Makespan Time
	// Utilisation is the share of GPU-seconds of the makespan that jobs had.
	Utilisation float64
	// Fragmentation is the mean over the makespan; the gauge says of what.
	Fragmentation float64
	// Timeline is nil unless requested.
	Timeline *Timeline
}

// ClassCount says that so many jobs have a ring of links of that class.
type ClassCount struct {
	Class topology.Kind
	Jobs  int
}

// tally collects what a Result is made of.
type tally struct {
	started, gaveUp, never int
	waits                  []Time
	classes                map[topology.Kind]int // of jobs of two or more GPUs
	busy, fragmented       float64               // integrals over time: GPU-milliseconds, milliseconds
}

func (t *tally) result(policy string, gpus int, makespan Time) Result {
	r := Result{
		Policy: policy, Jobs: t.started + t.gaveUp + t.never, Started: t.started, GaveUp: t.gaveUp, Never: t.never,
		Makespan: makespan, Classes: []ClassCount{},
	}
	r.Acceptance = share(float64(r.Started), float64(r.Jobs))
	wide := 0
	for _, k := range topology.Classes() {
		if n := t.classes[k]; n > 0 {
			r.Classes = append(r.Classes, ClassCount{k, n})
			wide += n
		}
	}
	r.Linked = share(float64(t.classes[topology.MX]), float64(wide))
	slices.Sort(t.waits)
	r.WaitMean, r.WaitMedian, r.WaitP95 = mean(t.waits), quantile(t.waits, 50), quantile(t.waits, 95)
	r.Utilisation = share(t.busy, float64(float64(gpus)*float64(makespan)))
	r.Fragmentation = share(t.fragmented, float64(makespan))
	return r
}

// share is part/whole, rounded so that the last bits of a sum do not show.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return round6(part / whole)
}

func round6(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func mean(times []Time) Time {
	if len(times) == 0 {
		return 0
	}
	sum := 0.0
	for _, t := range times {
		sum += float64(t)
	}
	return Time(math.Round(sum / float64(len(times))))
}

// quantile is the least of the ascending times that so many percent of them do not
// exceed.
func quantile(times []Time, percent int) Time {
	if len(times) == 0 {
		return 0
	}
	return times[(len(times)*percent+99)/100-1]
}
