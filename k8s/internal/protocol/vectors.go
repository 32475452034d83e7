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

// classWeight is the greatest weight of a link, that of MetaXLink.
const classWeight = 100

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
	all, links := 0, link.ByClass(g)
	for i := range g.Len() {
		for j := range i {
			all += links.Weight(i, j)
		}
	}
	return Scale{picker: alloc.New(g), gpus: g.Len(), scaled: all > MaxValue}
}

// Tables returns the values for the free GPUs, by the number of GPUs of a job, 1 to that of
// all GPUs of the node. Of a number up to that of the free GPUs, the score says how well the
// best-linked set of them is linked, and the loss how much the others lose by it: the sums of
// weights that the vendor publishes or, on a node where those can be too great, the score as a
// share of that of a full mesh of MetaXLink, and the loss up to MaxValue. Greater numbers of
// GPUs have the score 0 and the loss MaxValue. Errors are those of alloc.Picker.Vectors.
func (s Scale) Tables(free []int) (scores, losses peer.HAMiTable, err error) {
	weights, cuts, err := s.picker.Vectors(free)
	if err != nil {
		return nil, nil, err
	}
	scores, losses = peer.HAMiTable{}, peer.HAMiTable{}
	for n := 1; n <= s.gpus; n++ {
		switch {
		case n > len(weights):
			scores[n], losses[n] = 0, MaxValue
		case s.scaled && n > 1:
			scores[n], losses[n] = MaxValue*weights[n-1]/(classWeight*n*(n-1)/2), min(MaxValue, cuts[n-1])
		default:
			scores[n], losses[n] = weights[n-1], min(MaxValue, cuts[n-1])
		}
	}
	return scores, losses, nil
}
