package dockerargs

import "strings"

// Quote formats a command line, whose first word is the program, for pasting into a
// POSIX shell. Words that need no quotes get none.
func Quote(argv []string) string {
	var b strings.Builder
	for i, word := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if needsNoQuotes(word, i == 0) {
			b.WriteString(word)
			continue
		}
		// Inside single quotes only the quote itself is special.
		b.WriteByte('\'')
		b.WriteString(strings.ReplaceAll(word, "'", `'\''`))
		b.WriteByte('\'')
	}
	return b.String()
}

// needsNoQuotes reports whether a shell reads the word unchanged. A word with "=" in
// the position of the program would be an assignment.
func needsNoQuotes(word string, program bool) bool {
	for i := range len(word) {
		c := word[i]
		switch {
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case c == '=':
			if program {
				return false
			}
		case strings.IndexByte("-_./:,@%+", c) < 0:
			return false
		}
	}
	return word != ""
}
