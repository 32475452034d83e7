// SPDX-License-Identifier: Apache-2.0

package nodescore

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Judgement is what is said of a node for a request.
type Judgement struct {
	Node string
	Fits bool
	// Never says that the node does not fit whatever its pods do.
	Never bool
	// Reason says why the node does not fit, or why it is judged by Counts; otherwise it is
	// empty.
	Reason string
	By     Measure
	// Offer is the best set with its key; nil unless By is Key.
	Offer *Offer
	// Score and Loss are on the scale of the vendor's annotations; not of Counts.
	Score, Loss int
}

// Measure is by what a node is judged.
type Measure uint8

// The measures, best known first.
const (
	Key Measure = iota
	Values
	Counts
)

var measures = []string{"key", "values", "counts"}

// String returns the name of the measure: "key", "values" or "counts".
func (m Measure) String() string { return wording.Name(measures, m) }

// Judge judges a node for a request of at least one GPU.
func (s *Shapes) Judge(n Node, r Request) Judgement {
	j := Judgement{Node: n.Name}
	if reason := r.forbiddenReason(); reason != "" {
		j.Reason, j.Never = reason, true
		return j
	}
	problem := n.Contradiction()
	switch {
	case problem != nil && problem.Kind != Stale && n.Scores != nil:
		return j.byValues(n, r)
	case problem != nil:
		return j.byCounts(n, r, "judged by counts: "+problem.Text)
	case !n.offersWholeGPUs():
		return j.byCounts(n, r,
			fmt.Sprintf("judged by counts: its %s are given in %d parts", wording.Count(n.Shape.gpus, "GPU"), n.Allocatable))
	}
	if free, ok := s.available(n); ok {
		if o := s.offerFor(n.Shape, free, r); o.Err == nil {
			return j.byKey(o)
		}
	}
	o := s.offerFor(n.Shape, n.State.Free, r)
	switch {
	case o.Err == nil: // what the recent pods have is a guess, which is no reason to refuse the node
		return j.byCounts(n, r, "judged by counts: pods that were placed a moment ago may have the GPUs")
	case len(n.State.Free) < r.GPUs && n.unrequestedGPUs() >= r.GPUs:
		return j.byCounts(n, r, fmt.Sprintf("judged by counts: its state has %s free, but its pods leave %d",
			wording.Count(len(n.State.Free), "GPU"), n.unrequestedGPUs()))
	default:
		j.Reason, j.Never = o.Err.Error(), r.GPUs > n.Shape.gpus
		return j
	}
}

// available returns the GPUs that are free when the kubelet has given the recent pods theirs,
// if it chooses as the picker does; false if that cannot be.
func (s *Shapes) available(n Node) (free []int, ok bool) {
	free = n.State.Free
	for _, p := range n.Recent {
		o := s.offerFor(n.Shape, free, p.request)
		if o.Err != nil {
			return nil, false
		}
		free = slices.DeleteFunc(slices.Clone(free), func(g int) bool { return slices.Contains(o.Key.GPUs, g) })
	}
	return free, true
}

func (j Judgement) byKey(o *Offer) Judgement {
	j.Fits, j.Offer, j.Score, j.Loss = true, o, o.Score, o.Loss
	return j
}

// byValues judges by the vendor's annotations. Whether there are enough free GPUs, the
// scheduler counts.
func (j Judgement) byValues(n Node, r Request) Judgement {
	score, ok := n.Scores[r.GPUs]
	loss, okLoss := n.Losses[r.GPUs]
	if !ok || !okLoss {
		return j.byCounts(n, r, fmt.Sprintf("judged by counts: %s and %s have no values for %s", protocol.ScoresAnnotation,
			protocol.LossesAnnotation, wording.Count(r.GPUs, "GPU")))
	}
	j = j.byCounts(n, r, "")
	j.By, j.Score, j.Loss = Values, score, loss
	return j
}

// byCounts judges by how many GPUs the kubelet reports. How many of them pods request, the
// scheduler knows better: it also counts pods that it has just placed, and those that have
// just ended.
func (j Judgement) byCounts(n Node, r Request, reason string) Judgement {
	j.By, j.Fits, j.Reason = Counts, true, reason
	if n.Allocatable < r.GPUs {
		j.Fits, j.Reason = false, (&alloc.InsufficientError{Need: r.GPUs, Free: n.Allocatable, Of: n.Allocatable}).Error()
	}
	return j
}
