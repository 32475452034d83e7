package trace

import (
	"fmt"
	"slices"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Compare runs a trace on some GPUs of a picker's node, all of them idle at first,
// by each of the policies on its own, and returns their Results in that order.
// Jobs must be in the order of arrival. Timelines share one step. An error says
// that the trace, the GPUs or the policies make no sense or are more than the
// picker takes.
func Compare(picker *alloc.Picker, policies []key.Policy, gpus []int, jobs []Job, o Options) ([]Result, error) {
	if err := checkTrace(jobs); err != nil {
		return nil, fmt.Errorf("run trace: %w", err)
	}
	if len(gpus) == 0 {
		return nil, fmt.Errorf("run trace: the node has no GPU to give")
	}
	runs, errs := make([]*run, len(policies)), make([]error, len(policies))
	var all sync.WaitGroup
	for i, p := range policies {
		runs[i] = newRun(picker, p, gpus, jobs, o)
		all.Go(func() { errs[i] = runs[i].all() })
	}
	all.Wait()
	var step Time
	for i, r := range runs {
		if errs[i] != nil {
			return nil, fmt.Errorf("run trace: %w", errs[i])
		}
		step = max(step, r.course.step)
	}
	results := []Result{}
	for _, r := range runs {
		result := r.tally.result(r.policy.String(), len(gpus), r.now)
		if o.Timeline {
			result.Timeline = r.course.timeline(step, r.now, len(gpus))
		}
		results = append(results, result)
	}
	return results, nil
}

func newRun(picker *alloc.Picker, p key.Policy, gpus []int, jobs []Job, o Options) *run {
	return &run{
		picker: picker, policy: p, Options: o, gpus: slices.Sorted(slices.Values(gpus)), jobs: jobs,
		tally: tally{classes: map[topology.Kind]int{}},
	}
}
