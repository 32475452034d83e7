//go:build !race

package alloctest

// rounds is how often a random test goes round.
func Rounds(n int) int { return n }
