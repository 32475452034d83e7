// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"fmt"
	"math"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

// Policies returns all policies without parameters, also Heaviest, and Weighted with HAMi's
// factors.
func Policies() []key.Policy {
	hami, err := key.Weighted(10, 1)
	if err != nil {
		panic(err)
	}
	return []key.Policy{key.Spread, key.Binpack, hami, key.MTF, key.First, key.Heaviest}
}

// Factors returns the factors of Weighted in thousandths, as its name states them.
func Factors(policy key.Policy) (gain, loss int) {
	var a, b float64
	if _, err := fmt.Sscanf(policy.String(), "weighted:%g,%g", &a, &b); err != nil {
		panic(err)
	}
	return int(math.Round(1000 * a)), int(math.Round(1000 * b))
}
