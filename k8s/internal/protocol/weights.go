// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Weights are how much the score and the loss of a node count in its value, which is Score
// times the score less Loss times the loss. Where both are 0, nodes are compared by their
// keys.
type Weights struct{ Score, Loss float64 }

// Set reports whether nodes are compared by the weights.
func (w Weights) Set() bool { return w.Score > 0 || w.Loss > 0 }

// Value returns the value of a node with that score and loss.
func (w Weights) Value(score, loss int) float64 { return w.Score*float64(score) - w.Loss*float64(loss) }

// maxWeight is the greatest weight; a node's score and loss are whole numbers.
const maxWeight = 1e6

// ParseWeights reads the data of the ConfigMap with the vendor's options scoreWeight and
// lossWeight; an empty one is 0. With problems the weights are not known: one of a pair
// without the other would be another order of nodes.
func ParseWeights(data map[string]string) (w Weights, problems []string) {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		var to *float64
		switch key {
		case "scoreWeight":
			to = &w.Score
		case "lossWeight":
			to = &w.Loss
		default:
			if len(problems) < maxProblems {
				problems = append(problems, fmt.Sprintf("key %.40q is not known; want scoreWeight or lossWeight", key))
			}
			continue
		}
		if data[key] == "" {
			continue
		}
		v, err := strconv.ParseFloat(data[key], 64)
		if err != nil || !(v >= 0 && v <= maxWeight) { // NaN is neither
			problems = append(problems, fmt.Sprintf("%s %.40q; want a number from 0 to %d", key, data[key], int(maxWeight)))
			continue
		}
		*to = v
	}
	if len(problems) > 0 {
		return Weights{}, problems
	}
	return w, nil
}
