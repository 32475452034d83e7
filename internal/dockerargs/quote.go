// SPDX-License-Identifier: Apache-2.0

package dockerargs

import "strings"

// Quote formats a command line, whose first word is the program, for pasting into a
// POSIX shell. Words that need no quotes get none.
func Quote(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = QuoteWord(word)
	}
	if len(argv) > 0 && words[0] == argv[0] && strings.Contains(argv[0], "=") {
		words[0] = "'" + argv[0] + "'" // else an assignment
	}
	return strings.Join(words, " ")
}

// QuoteWord formats an argument for pasting into a POSIX shell.
func QuoteWord(word string) string {
	plain := func(r rune) bool {
		return (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') ||
			strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" // inside single quotes only the quote itself is special
}
