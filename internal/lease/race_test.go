// SPDX-License-Identifier: Apache-2.0

//go:build race

package lease

// slowness is how many times fewer sequences the model goes through, as each takes so much
// longer.
const slowness = 5
