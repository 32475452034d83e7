package dockerargs

import "strings"

// Quote writes a command line, its first word being the program, so that it can
// be pasted into a POSIX shell. Words that need no quotes get none.
func Quote(argv []string) string {
	var b strings.Builder
	for i, word := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if isPlain(word, i == 0) {
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

// isPlain reports whether a shell takes the word as it is. In the place of the
// program, a word with "=" would be an assignment.
func isPlain(word string, program bool) bool {
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
