// SPDX-License-Identifier: Apache-2.0

// Package lazyregexp compiles regular expressions when they are first used: most commands use none
// of those that their packages have, and all would wait for them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns what compiles the expression, once. The expression must be a valid one.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
