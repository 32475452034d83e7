package config

import (
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
)

// What a word of a value may be.

func absolute(word string) bool { return strings.HasPrefix(word, "/") }

// program is a name, to be looked for, or an absolute path: what is relative to a
// directory would be another program in another one.
func program(word string) bool {
	return word != "" && (absolute(word) || !strings.Contains(word, "/"))
}

func oneOf(words ...string) func(string) bool {
	return func(word string) bool { return slices.Contains(words, word) }
}

func policy(word string) bool {
	_, err := alloc.ParsePolicy(word)
	return err == nil
}

// period is a span of time that is not empty.
func period(word string) bool {
	d, err := time.ParseDuration(word)
	return err == nil && d > 0
}

// plain is a word that survives a list with commas, as the environment has it.
func plain(word string) bool { return word != "" && !strings.Contains(word, ",") }
