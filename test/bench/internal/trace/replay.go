package trace

import (
	"container/heap"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Cluster is equal nodes, all of whose GPUs are idle at first.
type Cluster struct {
	Picker *alloc.Picker
	Nodes  int
	GPUs   []int // of each node, ascending
}

// Place is where a job started when it arrived: a node, from 0, and GPUs there. A job without GPUs gave up.
type Place struct {
	Node int
	GPUs []int
}

// Replay returns the Result of a trace that somebody else has sent through a cluster, with the place of each
// job. Fragmentation is the mean of that of the nodes. Jobs must be in the order of arrival. An error says
// that the trace makes no sense, or that a GPU had two jobs at a time.
func (c Cluster) Replay(by string, jobs []Job, places []Place) (Result, error) {
	if err := checkTrace(jobs); err != nil {
		return Result{}, fmt.Errorf("replay trace: %w", err)
	}
	if len(places) != len(jobs) || len(jobs) == 0 {
		return Result{}, fmt.Errorf("replay trace: %d jobs at %d places", len(jobs), len(places))
	}
	r, err := c.begin()
	if err != nil {
		return Result{}, err
	}
	for i, j := range jobs {
		arrival := j.Arrival - jobs[0].Arrival
		if err := r.until(arrival, places); err != nil {
			return Result{}, err
		}
		if len(places[i].GPUs) == 0 {
			r.tally.gaveUp++
			continue
		}
		if err := r.start(i, arrival+j.Duration, places[i]); err != nil {
			return Result{}, fmt.Errorf("replay trace: job %d: %w", i+1, err)
		}
	}
	for len(r.ends) > 0 {
		if err := r.until(r.ends[0].end, places); err != nil {
			return Result{}, err
		}
	}
	return r.tally.result(by, c.Nodes*len(c.GPUs), r.now), nil
}

// replay is a trace on its way through a cluster.
type replay struct {
	Cluster
	free  [][]int // by node, ascending
	loose []float64
	busy  int
	now   Time
	ends  ends
	tally tally
	gauge *gauge
}

func (c Cluster) begin() (*replay, error) {
	g, err := newGauge(c.Picker, c.GPUs)
	if err != nil {
		return nil, err
	}
	r := &replay{Cluster: c, gauge: g, loose: make([]float64, c.Nodes), tally: tally{classes: map[topology.Kind]int{}}}
	for range c.Nodes {
		r.free = append(r.free, slices.Clone(c.GPUs))
	}
	return r, nil
}

// until moves the clock to a time, and ends the jobs that end by then.
func (r *replay) until(to Time, places []Place) error {
	for len(r.ends) > 0 && r.ends[0].end <= to {
		r.advance(r.ends[0].end)
		ended := heap.Pop(&r.ends).(running)
		node := places[ended.job].Node
		r.busy -= len(ended.gpus)
		if err := r.set(node, slices.Sorted(slices.Values(slices.Concat(r.free[node], ended.gpus)))); err != nil {
			return err
		}
	}
	r.advance(to)
	return nil
}

func (r *replay) advance(to Time) {
	d, loose := float64(to-r.now), 0.0
	for _, l := range r.loose {
		loose += l
	}
	loose /= float64(r.Nodes)
	r.tally.busy += float64(float64(r.busy) * d)
	r.tally.fragmented += float64(loose * d)
	r.now = to
}

// start gives a job its GPUs.
func (r *replay) start(job int, end Time, at Place) error {
	if at.Node < 0 || at.Node >= r.Nodes {
		return fmt.Errorf("node %d of %d", at.Node, r.Nodes)
	}
	rest := slices.DeleteFunc(slices.Clone(r.free[at.Node]), func(g int) bool { return slices.Contains(at.GPUs, g) })
	if len(rest) != len(r.free[at.Node])-len(at.GPUs) {
		return fmt.Errorf("GPUs %d of node %d, of which %d are free", at.GPUs, at.Node, r.free[at.Node])
	}
	if len(at.GPUs) > 1 {
		answer, err := r.Picker.Pick(alloc.Request{N: len(at.GPUs), Free: at.GPUs, Policy: key.Spread, Sizes: alloc.Off})
		if err != nil {
			return err
		}
		r.tally.classes[answer.Class]++
	}
	r.tally.waits = append(r.tally.waits, 0)
	r.tally.started++
	r.busy += len(at.GPUs)
	heap.Push(&r.ends, running{end: end, job: job, gpus: at.GPUs})
	return r.set(at.Node, rest)
}

// set sets the free GPUs of a node.
func (r *replay) set(node int, free []int) (err error) {
	r.free[node] = free
	r.loose[node], err = r.gauge.fragmentation(free)
	return err
}

// Within counts the jobs of the sizes that started, and those of them whose GPUs are all in one MetaXLink
// domain of the node.
func Within(graph *topology.Graph, places []Place, sizes ...int) (started, linked int) {
	for _, at := range places {
		if !slices.Contains(sizes, len(at.GPUs)) {
			continue
		}
		started++
		if slices.ContainsFunc(graph.Domains(), func(domain []int) bool {
			return !slices.ContainsFunc(at.GPUs, func(g int) bool { return !slices.Contains(domain, g) })
		}) {
			linked++
		}
	}
	return started, linked
}
