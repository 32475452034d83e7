// SPDX-License-Identifier: Apache-2.0

package jsontree

import (
	"bytes"
	"strconv"
	"strings"
)

// skipString skips the string at the current position. It reports whether the string is
// plain, and whether it is valid.
func (p *parser) skipString() (plain, ok bool) {
	plain = true
	for at := p.at + 1; at < len(p.text); at++ {
		c := p.text[at]
		switch {
		case c == '"':
			p.at = at + 1
			return plain, true
		case c < ' ':
			return false, false
		case c == '\\':
			length := escapeLength(p.text[at+1:])
			if length == 0 {
				return false, false
			}
			plain = false
			at += length
		case c >= 0x7f:
			plain = false
		}
	}
	return false, false
}

// escapeLength is how many bytes after a backslash belong to it; 0 if it is not valid.
func escapeLength(text []byte) int {
	if len(text) > 0 && strings.IndexByte(`"\/bfnrt`, text[0]) >= 0 {
		return 1
	}
	if len(text) >= 5 && text[0] == 'u' {
		if _, err := strconv.ParseUint(string(text[1:5]), 16, 16); err == nil {
			return 5
		}
	}
	return 0
}

func (p *parser) skipWord(word string) bool {
	is := bytes.HasPrefix(p.text[p.at:], []byte(word))
	if is {
		p.at += len(word)
	}
	return is
}

func (p *parser) skipNumber() bool {
	p.skip('-')
	if !p.skip('0') && !p.skipDigits() {
		return false
	}
	if p.skip('.') && !p.skipDigits() {
		return false
	}
	if p.skip('e') || p.skip('E') {
		_ = p.skip('+') || p.skip('-')
		return p.skipDigits()
	}
	return true
}

// skipDigits reports whether there is at least one.
func (p *parser) skipDigits() bool {
	start := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	return p.at > start
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
