// SPDX-License-Identifier: Apache-2.0

package wording

import (
	"fmt"
	"strings"
)

// Meant formats the question that ends a message about a mistyped word, such as `; did you
// mean "docker"?`. It is empty if no candidate is near.
func Meant(typed string, candidates ...string) string {
	return DidYouMean(Closest(typed, candidates...))
}

// DidYouMean formats a result of Closest as Meant does.
func DidYouMean(closest string) string {
	if closest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", closest)
}

// Closest returns the first candidate with the fewest typing errors: at most two, and fewer
// than half of its characters. A candidate that begins with what was typed, at least three
// characters, counts as one with two errors. It is empty if no candidate is that near.
func Closest(typed string, candidates ...string) string {
	best, least := "", 3
	for _, c := range candidates {
		errors := typingErrors(typed, c)
		if errors > (len(c)-1)/2 {
			errors = least
		}
		if len(typed) >= 3 && strings.HasPrefix(c, typed) {
			errors = min(errors, 2)
		}
		if errors < least {
			best, least = c, errors
		}
	}
	return best
}

// typingErrors is the number of characters to insert, delete, replace or swap with their
// neighbour in a to get b.
func typingErrors(a, b string) int {
	rows := make([][]int, len(a)+1) // rows[i][j]: from a[:i] to b[:j]
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range b {
		rows[0][j+1] = j + 1
	}
	for i := range len(a) {
		for j := range len(b) {
			change := rows[i][j]
			if a[i] != b[j] {
				change++
			}
			least := min(change, rows[i][j+1]+1, rows[i+1][j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				least = min(least, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = least
		}
	}
	return rows[len(a)][len(b)]
}
