package scrub

import (
	"regexp"
	"strings"
)

// maskable are the words of a text, and the characters behind a backslash.
var maskable = regexp.MustCompile(`\\.|[\w[:^ascii:]]+`)

// mask keeps the punctuation of a text, so that it fails where it failed, and no words:
// the same word becomes the same letters, of its length.
func mask(text string) string {
	known := map[string]string{}
	return maskable.ReplaceAllStringFunc(text, func(w string) string {
		switch {
		case w[0] == '\\' || w == "true" || w == "false" || w == "null":
			return w
		case strings.Trim(w, "0123456789") == "":
			return strings.Repeat("1", len(w))
		}
		if known[w] == "" {
			letters := []byte(strings.Repeat("a", len(w)))
			for n, at := len(known), len(w)-1; n > 0 && at >= 0; n, at = n/26, at-1 {
				letters[at] += byte(n % 26)
			}
			known[w] = string(letters)
		}
		return known[w]
	})
}
