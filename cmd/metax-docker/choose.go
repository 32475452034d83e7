package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// chooser finds the GPUs that a request means, given who holds which.
type chooser struct {
	node      gpu.Node
	selection request.Selection
	policy    alloc.Policy
	share     bool
	explain   bool
	picker    *alloc.Picker
	// What the last choice has to tell, once the lock is gone.
	warnings    []string
	explanation string
}

func newChooser(node gpu.Node, req request.Request, policy alloc.Policy) (*chooser, error) {
	selection, err := req.Resolve(node.GPUs)
	var unknown *request.UnknownError
	switch {
	case errors.As(err, &unknown):
		return nil, fmt.Errorf("%q is not a GPU: use a count (2), all, or IDs (0,2); this node has %s", unknown.ID, unknown.GPUs)
	case err != nil:
		return nil, fmt.Errorf("--gpus: %w", err)
	}
	for _, ref := range selection.Slices {
		if s := node.GPUs[ref.GPU].Slices[ref.Slice]; len(s.Nodes) == 0 {
			return nil, fmt.Errorf("slice %s of GPU %d cannot be given, it has no device nodes (metax-ctk sgpu list)", s.Name(), ref.GPU)
		}
	}
	for _, index := range selection.Explicit {
		if err := givable(node, node.GPUs[index]); err != nil {
			return nil, err
		}
	}
	c := &chooser{node: node, selection: selection, policy: policy}
	healthy := node.Healthy()
	switch {
	case selection.All:
		if len(healthy) == 0 {
			return nil, noUsableGPU(node)
		}
		if left := len(node.GPUs) - len(healthy); left > 0 {
			c.warnings = append(c.warnings, fmt.Sprintf("%d of %d GPUs are left out because they are unhealthy or given in slices (metax-ctk device list)", left, len(node.GPUs)))
		}
	case selection.Count > 0:
		graph, warnings := topology.New(node)
		c.warnings = append(slices.Clone(node.Warnings), warnings...)
		c.picker = alloc.New(graph)
		// The tables are made now, not under the lock; and a request that the whole
		// node could not meet needs none.
		answer, err := c.pick(healthy, nil)
		if err != nil {
			return nil, err
		}
		c.warnings = append(c.warnings, answer.Warnings...)
	}
	return c, nil
}

// pick chooses among the free ones, with all of the required.
func (c *chooser) pick(free, required []int) (alloc.Answer, error) {
	answer, err := c.picker.Pick(alloc.Request{N: c.selection.Count, Free: free, Required: required, Policy: c.policy, Explain: c.explain})
	var short *alloc.InsufficientError
	switch {
	case !errors.As(err, &short):
	case short.Free == 0 && short.Of > 0:
		err = noUsableGPU(c.node)
	case short.Need <= short.Of:
		err = fmt.Errorf("%w (metax-ctk device list)", err)
	}
	return answer, err
}

// noUsableGPU is the error for a node of which no GPU can be given as a whole.
func noUsableGPU(node gpu.Node) error {
	if slices.Contains(node.Warnings, discover.ModuleMissing) {
		return errors.New("no usable GPU: " + discover.ModuleMissing)
	}
	return errors.New("no usable GPU: all are unhealthy or given in slices (metax-ctk device list)")
}

// names are the GPUs that the request names, none for one that only counts.
func (c *chooser) names() []gpu.BDF {
	switch {
	case c.selection.All:
		return bdfs(c.node, c.node.Healthy())
	case c.selection.Count > 0:
		return nil
	case len(c.selection.Slices) > 0:
		return bdfs(c.node, c.parents())
	}
	return bdfs(c.node, c.selection.Explicit)
}

// parents are the GPUs that the named slices are parts of, each once.
func (c *chooser) parents() []int {
	var parents []int
	for _, ref := range c.selection.Slices {
		parents = append(parents, ref.GPU)
	}
	return slices.Compact(parents) // they come in the order of their GPUs
}

// slices are the named slices.
func (c *chooser) slices() []gpu.Slice {
	var all []gpu.Slice
	for _, ref := range c.selection.Slices {
		all = append(all, c.node.GPUs[ref.GPU].Slices[ref.Slice])
	}
	return all
}

func bdfs(node gpu.Node, indices []int) []gpu.BDF {
	out := make([]gpu.BDF, len(indices))
	for i, index := range indices {
		out[i] = node.GPUs[index].BDF
	}
	return out
}

// choose returns the indices of the GPUs. Reserved ones are for requests that
// came earlier.
func (c *chooser) choose(holders []usage.Holder, reserved []gpu.BDF) ([]int, error) {
	healthy := c.node.Healthy()
	free, busy := divide(c.node, nil, holders, reserved)
	full := &lease.FullError{Want: c.selection.Count, Free: len(free), Held: len(busy), Of: len(healthy)}
	switch {
	case c.selection.All && (c.share || len(busy) == 0):
		return healthy, nil
	case c.selection.All:
		full.Want = len(healthy)
		return nil, full
	case c.selection.Count > 0:
		var required []int
		if c.selection.Count > len(free) {
			if !c.share {
				return nil, full
			}
			free, required = healthy, free
		}
		answer, err := c.pick(free, required)
		if err == nil && answer.Explanation != nil {
			c.explanation = explanation(answer, busy)
		}
		return answer.GPUs, err
	}
	if len(c.selection.Slices) > 0 {
		return c.parents(), c.refuse(holders)
	}
	if c.share {
		return c.selection.Explicit, nil
	}
	for _, i := range c.selection.Explicit {
		if err := refusal(c.node.GPUs[i], holders, reserved); err != nil {
			return nil, err
		}
	}
	return c.selection.Explicit, nil
}

// divide tells the healthy GPUs that nobody has from those that somebody has: taken
// are those of other services of the project.
func divide(node gpu.Node, taken map[int]string, holders []usage.Holder, reserved []gpu.BDF) (free, busy []int) {
	for _, i := range node.Healthy() {
		if _, ok := taken[i]; ok || refusal(node.GPUs[i], holders, reserved) != nil {
			busy = append(busy, i)
		} else {
			free = append(free, i)
		}
	}
	return free, busy
}

// refusal says who has a GPU, or that it is reserved; nil for one that is free.
func refusal(g gpu.GPU, holders []usage.Holder, reserved []gpu.BDF) error {
	if held := usage.Held(holders, g.BDF); held != nil {
		return &lease.HeldError{GPU: g.Index, Holder: held[0]}
	} else if slices.Contains(reserved, g.BDF) {
		return &lease.QueueError{Waiting: 1}
	}
	return nil
}

// refuse says who holds one of the named slices.
func (c *chooser) refuse(holders []usage.Holder) error {
	for _, ref := range c.selection.Slices {
		name := c.node.GPUs[ref.GPU].Slices[ref.Slice].Name()
		if held := usage.HeldSlice(holders, name); held != nil && !c.share {
			return &lease.HeldError{GPU: ref.GPU, Slice: name, Holder: *held}
		}
	}
	return nil
}

func explanation(answer alloc.Answer, busy []int) string {
	text := answer.Explanation.Text(true)
	if len(busy) > 0 {
		text += "in use: " + wording.List(busy) + " (metax-ctk ps)\n"
	}
	return text
}
