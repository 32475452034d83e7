package key

import "math/bits"

// power is the exponent of the greatest power of two up to n, 0 if n is 0. Of n
// GPUs a capability counts the sets of 2, 4, 8 and so on up to 1<<power(n).
func Log2(n int) int { return bits.Len(uint(n|1)) - 1 }
