package trace

import (
	"cmp"
	"container/heap"
	"slices"
)

// queue holds the jobs that wait, by size: what a size may have, every job of that
// size may have, so that the first of each is all there is to look at.
type queue struct {
	lines []line // ascending by size
	n     int    // jobs in all lines
}

// line is the waiting jobs of one size, first come first.
type line struct {
	gpus int
	jobs []int // places in the trace
	// blocked reports that these jobs did not fit, and that no GPU has become free
	// since.
	blocked bool
}

func (q *queue) push(job, gpus int) {
	at, found := slices.BinarySearchFunc(q.lines, gpus, func(l line, gpus int) int { return cmp.Compare(l.gpus, gpus) })
	if !found {
		q.lines = slices.Insert(q.lines, at, line{gpus: gpus})
	}
	q.lines[at].jobs = append(q.lines[at].jobs, job)
	q.n++
}

// first returns the line of the job that came first, of those whose line passes;
// nil if there is none.
func (q *queue) first(pass func(*line) bool) *line {
	var found *line
	for i := range q.lines {
		l := &q.lines[i]
		if len(l.jobs) > 0 && (found == nil || l.jobs[0] < found.jobs[0]) && pass(l) {
			found = l
		}
	}
	return found
}

// everyLine passes.
func everyLine(*line) bool { return true }

// pop takes the first job of a line.
func (q *queue) pop(l *line) (job int) {
	job, l.jobs = l.jobs[0], l.jobs[1:]
	q.n--
	return job
}

// unblock makes every job be tried again.
func (q *queue) unblock() {
	for i := range q.lines {
		q.lines[i].blocked = false
	}
}

// running is a job that has its GPUs.
type running struct {
	end  Time
	job  int
	gpus []int
}

// ends is a heap of the jobs that run, the next to end first.
type ends []running

func (e ends) Len() int { return len(e) }

func (e ends) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].end, e[j].end), cmp.Compare(e[i].job, e[j].job)) < 0
}

func (e ends) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *ends) Push(x any) { *e = append(*e, x.(running)) }

func (e *ends) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

var _ heap.Interface = (*ends)(nil)
