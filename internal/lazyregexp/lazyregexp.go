// SPDX-License-Identifier: Apache-2.0

// Package lazyregexp compiles regular expressions when they are first used: most commands use
// none of those that their packages have, and all would wait for them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles the expression at its first call, which panics if the
// expression is not valid.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
