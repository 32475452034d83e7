//go:build !race

package lease

const slowness = 1
