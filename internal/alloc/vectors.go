// SPDX-License-Identifier: Apache-2.0

package alloc

import "github.com/metax-ctk/container-toolkit/internal/alloc/key"

// Heaviest returns the greatest weight of a set of n of the free GPUs, and the least cut
// among the sets of that weight. Errors are those of Pick.
func (p *Picker) Heaviest(free []int, n int) (weight, cut int, err error) {
	r := Request{N: n, Free: free, Policy: key.Heaviest}
	a, err := p.Pick(r)
	if err != nil {
		return 0, 0, err
	}
	q, err := r.toQuestion(p.gpus)
	if err != nil {
		return 0, 0, err
	}
	c := p.nodeSolver().Figures(q, a.GPUs)
	return c.Weight, c.Cut, nil
}

// Vectors returns what Heaviest returns for each number of GPUs from 1 to that of the free
// ones: the weights as scores, and the cuts as losses. Item 0 is for 1 GPU. An error is an
// *ArgumentError or a *TooLargeError.
func (p *Picker) Vectors(free []int) (scores, losses []int, err error) {
	scores, losses = []int{}, []int{}
	for n := 1; n <= len(free); n++ {
		weight, cut, err := p.Heaviest(free, n)
		if err != nil {
			return nil, nil, err
		}
		scores, losses = append(scores, weight), append(losses, cut)
	}
	return scores, losses, nil
}
