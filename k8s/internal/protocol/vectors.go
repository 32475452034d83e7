// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/peer"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// MaxValue is the greatest score and the greatest loss. HAMi subtracts both from 2000, and a
// difference that is not positive would turn its order around.
const MaxValue = 1999

// Scale makes the values of ScoresAnnotation and LossesAnnotation of one node.
type Scale struct {
	picker *alloc.Picker
	gpus   int
	// scaled is true for a node whose links together weigh more than MaxValue. That is the
	// greatest score that the node can ever have, and no loss is greater; so the scale is a
	// property of the node and does not jump when GPUs come into use.
	scaled bool
}

// NewScale returns the Scale of a node.
func NewScale(g *topology.Graph) Scale {
	all, links := 0, link.ByPublishedClass(g)
	for i := range g.Len() {
		for j := range i {
			all += links.Weight(i, j)
		}
	}
	return Scale{picker: alloc.NewPublished(g), gpus: g.Len(), scaled: all > MaxValue}
}

// Tables returns the Values of each number of GPUs, from 1 to that of all GPUs of the node.
// Errors are those of alloc.Picker.Pick.
func (s Scale) Tables(free []int) (scores, losses peer.HAMiTable, err error) {
	scores, losses = peer.HAMiTable{}, peer.HAMiTable{}
	for n := 1; n <= s.gpus; n++ {
		if scores[n], losses[n], err = s.Values(free, n); err != nil {
			return nil, nil, err
		}
	}
	return scores, losses, nil
}

// Values returns the score and the loss of a job of n GPUs for the free GPUs. Of a number up
// to that of the free GPUs, the score says how well the best-linked set of them is linked, and
// the loss how much the others lose at least by such a set: the sums of weights that the
// vendor publishes or, on a node where those can be too great, the score as a share of that of
// a full mesh of MetaXLink, and the loss up to MaxValue. Neither depends on the numbers of the
// GPUs. Greater numbers of GPUs have the score 0 and the loss MaxValue. Errors are those of
// alloc.Picker.Pick.
func (s Scale) Values(free []int, n int) (score, loss int, err error) {
	if n > len(free) {
		return 0, MaxValue, nil
	}
	weight, cut, err := s.picker.Heaviest(free, n)
	if err != nil {
		return 0, 0, err
	}
	if s.scaled && n > 1 {
		weight = MaxValue * weight / link.PublishedMesh(n)
	}
	return weight, min(MaxValue, cut), nil
}
