//go:build !race

package occupancy

const slowness = 1
