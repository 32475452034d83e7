package rival

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

// allocator is one of those that are compared, on one node.
type allocator struct {
	name string
	ask  func(free uint32, k int) question
	// first makes the allocator anew and asks it for k of all GPUs; nil for one that prepares
	// nothing.
	first func(k int) error
	// work is how much a question gives it to do, in steps; nil where that does not matter.
	work func(free, k int) float64
}

// question is k of the free GPUs, in the allocator's own words.
type question struct {
	pick func()
	// answer is what the last pick gave; a member that is not a GPU is -1.
	answer func() []int
}

// allocators are all there are for the node, ours first.
func allocators(n Node) ([]allocator, error) {
	g, err := n.graph()
	if err != nil {
		return nil, err
	}
	spread, err := ours("spread", n.GPUs, key.Spread, func() (*alloc.Picker, error) { return alloc.NewWeighted(g, n.Weights) })
	if err != nil {
		return nil, err
	}
	theirs, err := nvidia(n)
	if err != nil {
		return nil, err
	}
	return append([]allocator{spread}, theirs...), nil
}

// ours is the picker with a policy.
func ours(name string, gpus int, policy key.Policy, makeIt func() (*alloc.Picker, error)) (allocator, error) {
	picker, err := makeIt()
	if err != nil {
		return allocator{}, fmt.Errorf("make the picker: %w", err)
	}
	all := members(1<<gpus - 1)
	return allocator{
		name: name,
		ask: func(free uint32, k int) question {
			request := alloc.Request{N: k, Free: members(free), Policy: policy}
			var answer alloc.Answer
			return question{
				// An error leaves an answer without GPUs, which is judged like any other's.
				pick:   func() { answer, _ = picker.Pick(request) },
				answer: func() []int { return answer.GPUs },
			}
		},
		first: func(k int) error {
			picker, err := makeIt()
			if err != nil {
				return err
			}
			_, err = picker.Pick(alloc.Request{N: k, Free: all, Policy: policy})
			return err
		},
	}, nil
}
