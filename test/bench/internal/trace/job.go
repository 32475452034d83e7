package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// MaxJobs is the greatest number of jobs that a trace may have.
const MaxJobs = 1_000_000

// maxDuration keeps the end of a million jobs, one after another, within an int64.
const maxDuration = 1_000_000_000 * Second

// maxGPUs bounds what a job may request. No node has as many.
const maxGPUs = 1 << 30

// Job is one job of a trace.
type Job struct {
	Name     string // may be empty
	Arrival  Time
	GPUs     int
	Duration Time
}

// checkTrace makes sure that jobs are a trace: sound, and in the order of arrival.
func checkTrace(jobs []Job) error {
	if len(jobs) > MaxJobs {
		return fmt.Errorf("%d jobs; at most %d", len(jobs), MaxJobs)
	}
	for i, j := range jobs {
		switch {
		case j.Arrival < 0 || j.Arrival > maxTime:
			return fmt.Errorf("job %d arrives at %v", i+1, j.Arrival)
		case j.GPUs < 1 || j.GPUs > maxGPUs:
			return fmt.Errorf("job %d wants %d GPUs", i+1, j.GPUs)
		case j.Duration < 0 || j.Duration > maxDuration:
			return fmt.Errorf("job %d lasts %v", i+1, j.Duration)
		case i > 0 && j.Arrival < jobs[i-1].Arrival:
			return fmt.Errorf("job %d arrives before the one that precedes it", i+1)
		}
	}
	return nil
}

// sortTrace puts jobs in the order of arrival; those that arrive together stay in
// the order they are in.
func sortTrace(jobs []Job) {
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
}

// Load is what a trace asks of a node of so many GPUs: the GPU-seconds of its jobs,
// over those that the node has from the first arrival to the last. 1 is as much as
// it could ever do. It is 0 if all jobs arrive at once.
func Load(jobs []Job, gpus int) float64 {
	if len(jobs) == 0 {
		return 0
	}
	span := jobs[len(jobs)-1].Arrival - jobs[0].Arrival
	asked := 0.0
	for _, j := range jobs {
		asked += float64(float64(j.GPUs) * j.Duration.seconds())
	}
	return share(asked, float64(float64(gpus)*span.seconds()))
}
