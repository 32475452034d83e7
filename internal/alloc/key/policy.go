// SPDX-License-Identifier: Apache-2.0

package key

import (
	"fmt"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Policy decides which of two sets of GPUs is better. The zero Policy is Spread.
// Policies can be compared with ==.
type Policy struct {
	objective Objective
	// The factors of the weight and of the cut, in thousandths; of Weighted alone.
	gain, loss int64
}

// Objective is a Policy without its factors.
type Objective uint8

// The objectives, one for each name of a policy.
const (
	ObjectiveSpread Objective = iota
	ObjectiveBinpack
	ObjectiveWeighted
	ObjectiveMTF
	ObjectiveFirst
	ObjectiveHeaviest
	NumObjectives int = iota
)

// The policies without parameters. Spread and Binpack compare the class of the set
// first: they leave a MetaXLink domain only if the request does not fit into one.
var (
	// Spread prefers the best-linked set, and among equals the one that leaves the
	// most capable rest. Alias "compact".
	Spread = Policy{objective: ObjectiveSpread}
	// Binpack prefers the set that leaves the most capable rest and has the least cut,
	// and among equals the best-linked one. Alias "preserve".
	Binpack = Policy{objective: ObjectiveBinpack}
	// MTF prefers the set whose rest the fewest jobs of 8, 4, 2 and 1 GPUs fill, by
	// Kunlunxin's measure of fragmentation.
	MTF = Policy{objective: ObjectiveMTF}
	// First takes the free GPUs with the lowest numbers.
	First = Policy{objective: ObjectiveFirst}
	// Heaviest prefers the greatest weight and then the least cut, so that both are the
	// same however the GPUs are numbered. Nobody can request it: published tables are
	// made with it.
	Heaviest = Policy{objective: ObjectiveHeaviest}
)

// maxFactor bounds the factors of Weighted, so that no sum overflows.
const maxFactor = 1000

// Weighted prefers the set with the greatest gain·weight − loss·cut. HAMi scores slices
// of GPUs with 10 and 1. The factors are from 0 to 1000 and are rounded to thousandths.
// NaN is an error, and so are two factors of 0.
func Weighted(gain, loss float64) (Policy, error) {
	for _, f := range []float64{gain, loss} {
		if !(f >= 0 && f <= maxFactor) { // NaN is neither
			return Policy{}, fmt.Errorf("factor %v: want a number from 0 to %d", f, maxFactor)
		}
	}
	p := Policy{objective: ObjectiveWeighted, gain: thousandths(gain), loss: thousandths(loss)}
	if p.gain == 0 && p.loss == 0 {
		return Policy{}, fmt.Errorf("factors %v and %v: one must be at least 0.001", gain, loss)
	}
	return p, nil
}

// thousandths rounds a factor.
func thousandths(f float64) int64 { return int64(f*1000 + 0.5) }

var objectiveNames = []string{"spread", "binpack", "weighted", "mtf", "first", "heaviest"}

// Objective returns the policy without its factors.
func (p Policy) Objective() Objective { return p.objective }

// String returns the policy's name, such as "spread" or "weighted:10,1".
func (p Policy) String() string {
	s := wording.Name(objectiveNames, p.objective)
	if p.objective == ObjectiveWeighted {
		s += ":" + formatThousandths(p.gain) + "," + formatThousandths(p.loss)
	}
	return s
}

// formatThousandths writes thousandths as a decimal number.
func formatThousandths(v int64) string { return strconv.FormatFloat(float64(v)/1000, 'f', -1, 64) }

// Score returns gain·weight − loss·cut, in thousandths.
func (p Policy) Score(weight, cut int64) int64 { return p.gain*weight - p.loss*cut }
