//go:build race

package alloctest

// Rounds is how often a random test goes round with the race detector, which is
// slow and has little to find there: one time in ten.
func Rounds(n int) int { return max(1, n/10) }
