//go:build race

package alloc

// rounds is how often a random test goes round with the race detector, which is
// slow and has little to find there: one time in ten.
func rounds(n int) int { return max(1, n/10) }
