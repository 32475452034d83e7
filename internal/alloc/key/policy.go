package key

import (
	"fmt"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Policy is what makes one set of GPUs better than another. The zero Policy is
// Spread. Policies can be compared with ==.
type Policy struct {
	objective Objective
	// of Weighted alone, in thousandths: what the weight of the set and that of
	// the cut count
	gain, loss int64
}

type Objective uint8

const (
	ObjectiveSpread Objective = iota
	ObjectiveBinpack
	ObjectiveWeighted
	ObjectiveMTF
	ObjectiveFirst
	NumObjectives
)

// The policies without parameters. Spread and Binpack put the class of the set
// first, so that they never leave a link domain without need.
var (
	// Spread wants the best-linked set, and among equals the one that leaves the
	// most capable rest. Alias "compact".
	Spread = Policy{objective: ObjectiveSpread}
	// Binpack wants the set that leaves the most capable rest and cuts the least,
	// and among equals the best-linked one. Alias "preserve".
	Binpack = Policy{objective: ObjectiveBinpack}
	// MTF wants the set after which the fewest jobs of 8, 4, 2 and 1 GPUs would
	// fill the node: Kunlunxin's measure of fragmentation.
	MTF = Policy{objective: ObjectiveMTF}
	// First takes GPUs in the order of their indices.
	First = Policy{objective: ObjectiveFirst}
)

// maxFactor bounds the factors of Weighted, so that no sum overflows.
const maxFactor = 1000

// Weighted wants the greatest gain·weight − loss·cut; HAMi scores sGPU with 10
// and 1. The factors are from 0 to 1000 and count in thousandths; both 0 is an
// error, as is NaN.
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

func thousandths(f float64) int64 { return int64(f*1000 + 0.5) }

var objectiveNames = []string{"spread", "binpack", "weighted", "mtf", "first"}

// Objective is what the policy maximizes.
func (p Policy) Objective() Objective { return p.objective }

// String is the policy's name, such as "spread" or "weighted:10,1".
func (p Policy) String() string {
	s := wording.Name(objectiveNames, p.objective)
	if p.objective == ObjectiveWeighted {
		s += ":" + decimal(p.gain) + "," + decimal(p.loss)
	}
	return s
}

// decimal writes thousandths as a number.
func decimal(v int64) string { return strconv.FormatFloat(float64(v)/1000, 'f', -1, 64) }

// score is what Weighted makes of the weight of a set and of its cut, in
// thousandths.
func (p Policy) Score(weight, cut int64) int64 { return p.gain*weight - p.loss*cut }
