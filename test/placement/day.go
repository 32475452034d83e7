// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Job is a job of a trace.
type Job struct {
	Arrival  time.Duration // from any start
	GPUs     int
	Duration time.Duration
}

// End is when the job ends if it starts when it arrives.
func (j Job) End() time.Duration { return j.Arrival + j.Duration }

// ReadJobs reads a trace: a line with the names arrival, gpus and duration, and one for each
// job, in the order of arrival, with times in seconds.
func ReadJobs(path string) (jobs []Job, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the jobs %s: %w", path, err)
	}
	if len(rows) < 2 || !slices.Equal(rows[0], []string{"arrival", "gpus", "duration"}) {
		return nil, fmt.Errorf("read the jobs %s: want arrival,gpus,duration, and jobs", path)
	}
	for i, row := range rows[1:] {
		arrival, errA := seconds(row[0])
		gpus, errG := strconv.Atoi(row[1])
		duration, errD := seconds(row[2])
		if err := cmp.Or(errA, errG, errD); err != nil || gpus < 1 || duration <= 0 || i > 0 && arrival < jobs[i-1].Arrival {
			return nil, fmt.Errorf("read the jobs %s: job %d is %q, %v", path, i+1, row, err)
		}
		jobs = append(jobs, Job{arrival, gpus, duration})
	}
	return jobs, nil
}

// seconds are rounded to milliseconds, which makes "at the same time" exact.
func seconds(text string) (time.Duration, error) {
	s, err := strconv.ParseFloat(text, 64)
	return time.Duration(math.Round(s*1e3)) * time.Millisecond, err
}

// Outcome is what became of the jobs of a day. Shares are from 0 to 1, rounded to six places.
type Outcome struct {
	Policy        string
	Jobs, Started int
	Acceptance    float64 // the share of jobs that started
	// Utilisation is the share of GPU time that jobs had, from the first arrival to the last
	// arrival or end.
	Utilisation float64
	// Fragmentation is that of the free GPUs of a node, the mean over nodes and time: of what
	// they could serve in jobs of 8, 4 and 2 if they lay well, the part that they cannot serve
	// within MetaXLink domains.
	Fragmentation float64
	// Eight are the jobs for 8 GPUs, of which EightStarted started. Of the jobs for 2 and 4
	// GPUs, Some started, and Linked lay within a MetaXLink domain.
	Eight, EightStarted, Some, Linked int
	Rate                              float64 // of Figures.Rates
}

// Cluster is equal nodes, all of whose GPUs are idle at first.
type Cluster struct {
	Nodes   int
	GPUs    []int   // of each node
	Domains [][]int // of the GPUs that MetaXLink joins
}

// NewCluster returns so many nodes with the GPUs of a graph.
func NewCluster(nodes int, gpus []int, graph *topology.Graph) Cluster {
	return Cluster{Nodes: nodes, GPUs: gpus, Domains: graph.Domains()}
}

// event is the start or the end of a job.
type event struct {
	at  time.Duration
	end bool
	job int
}

// Replay returns what became of jobs that a scheduler placed. Jobs must be in the order of
// arrival. It fails if a GPU had two jobs at a time.
func (c Cluster) Replay(d Day, jobs []Job) (Outcome, error) {
	if len(d.Placed) != len(jobs) || len(jobs) == 0 {
		return Outcome{}, fmt.Errorf("replay %s: %d jobs at %d places", d.Scheduler, len(jobs), len(d.Placed))
	}
	out := Outcome{Policy: d.Scheduler, Jobs: len(jobs)}
	var events []event
	for i, j := range jobs {
		out.count(j, c.isLinked(d.Placed[i].GPUs), len(d.Placed[i].GPUs) > 0)
		if len(d.Placed[i].GPUs) > 0 {
			events = append(events, event{j.Arrival, false, i}, event{j.End(), true, i})
		}
	}
	slices.SortFunc(events, func(a, b event) int {
		switch {
		case a.at == b.at && a.end != b.end && a.end:
			return -1
		case a.at == b.at && a.end != b.end:
			return 1
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job))
	})
	r := replay{Cluster: c, now: jobs[0].Arrival, free: make([][]int, c.Nodes), loose: make([]float64, c.Nodes)}
	for n := range r.free {
		r.free[n] = c.GPUs
	}
	for _, e := range events {
		r.advance(e.at)
		if err := r.move(d.Placed[e.job], e.end); err != nil {
			return Outcome{}, fmt.Errorf("replay %s: job %d: %w", d.Scheduler, e.job+1, err)
		}
	}
	r.advance(max(r.now, jobs[len(jobs)-1].Arrival))
	makespan := float64(r.now - jobs[0].Arrival)
	out.Acceptance = share(float64(out.Started), float64(out.Jobs))
	out.Utilisation = share(r.used, float64(c.Nodes*len(c.GPUs))*makespan)
	out.Fragmentation = share(r.fragmented, makespan)
	return out, nil
}

func (o *Outcome) count(j Job, linked, started bool) {
	if started {
		o.Started++
	}
	switch {
	case j.GPUs == 8:
		o.Eight++
		if started {
			o.EightStarted++
		}
	case started && (j.GPUs == 2 || j.GPUs == 4):
		o.Some++
		if linked {
			o.Linked++
		}
	}
}

// isLinked reports whether GPUs are all in one domain.
func (c Cluster) isLinked(gpus []int) bool {
	return slices.ContainsFunc(c.Domains, func(domain []int) bool { return len(common(gpus, domain)) == len(gpus) })
}

// common are those of some GPUs that are among others.
func common(gpus, among []int) []int {
	return slices.DeleteFunc(slices.Clone(gpus), func(g int) bool { return !slices.Contains(among, g) })
}

// replay is jobs on their way through a cluster.
type replay struct {
	Cluster
	now              time.Duration
	free             [][]int   // by node
	loose            []float64 // the fragmentation by node
	busy             int       // GPUs
	used, fragmented float64   // integrals over time
}

// advance moves the clock, and measures the time that goes by.
func (r *replay) advance(to time.Duration) {
	loose := 0.0
	for _, l := range r.loose {
		loose += l
	}
	d := float64(to - r.now)
	r.used += float64(r.busy) * d
	r.fragmented += loose / float64(r.Nodes) * d
	r.now = to
}

// move takes or gives back the GPUs of a job.
func (r *replay) move(at Place, back bool) error {
	if at.Node < 0 || at.Node >= r.Nodes {
		return fmt.Errorf("node %d of %d", at.Node, r.Nodes)
	}
	free := r.free[at.Node]
	switch {
	case back:
		free = slices.Concat(free, at.GPUs)
		r.busy -= len(at.GPUs)
	case len(common(free, at.GPUs)) != len(at.GPUs):
		return fmt.Errorf("GPUs %d of node %d, of which %d are free", at.GPUs, at.Node, free)
	default:
		free = slices.DeleteFunc(slices.Clone(free), func(g int) bool { return slices.Contains(at.GPUs, g) })
		r.busy += len(at.GPUs)
	}
	r.free[at.Node], r.loose[at.Node] = free, r.fragmentation(free)
	return nil
}

// fragmentation is that of the free GPUs of a node: 1 − Σ k·V(k) / Σ k·min(⌊free/k⌋, V₀(k))
// over k = 8, 4, 2, where V(k) are the disjoint sets of k free GPUs within domains, and V₀(k)
// the same of all GPUs. It is 0 while the node is idle, and where so few are free that nothing
// is lost; it is 1 where they can serve no job of two or more.
func (c Cluster) fragmentation(free []int) float64 {
	can, could := 0, 0
	for _, k := range []int{8, 4, 2} {
		can += k * c.sets(free, k)
		could += k * min(len(free)/k, c.sets(c.GPUs, k))
	}
	return share(float64(could-can), float64(could))
}

func (c Cluster) sets(gpus []int, k int) (n int) {
	for _, domain := range c.Domains {
		n += len(common(gpus, domain)) / k
	}
	return n
}

// share is a part of a whole, rounded so that the last bits of a sum do not show; of nothing
// it is 0.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return math.Round(part/whole*1e6) / 1e6
}
