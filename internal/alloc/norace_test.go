//go:build !race

package alloc

// rounds is how often a random test goes round.
func rounds(n int) int { return n }
