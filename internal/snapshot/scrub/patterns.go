// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
)

// Classes of words that are recognized by their form.
const (
	address Class = "address"
	hex     Class = "hex"
)

// scrubbed replaces a secret.
const scrubbed = "scrubbed"

// pattern finds words by their form. The first group, if there is one, is replaced.
type pattern struct {
	re *regexp.Regexp
	// with returns the replacement of a match; if ok is false, the match stays.
	with func(s *Scrubber, text string, from, to int) (string, bool)
	word string // in lower case: every match contains it; may be empty
	// format says that the word is one of the formats.
	format bool
}

func (p pattern) replaceMatches(s *Scrubber, text string) string {
	var b strings.Builder
	at := 0
	for _, m := range p.re.FindAllStringSubmatchIndex(text, -1) {
		from, to := m[len(m)-2], m[len(m)-1]
		if with, ok := p.with(s, text, from, to); ok {
			b.WriteString(text[at:from] + with)
			at = to
		}
	}
	return b.String() + text[at:]
}

// as replaces every match by its stand-in of a class.
func as(class Class) func(*Scrubber, string, int, int) (string, bool) {
	return func(s *Scrubber, text string, from, to int) (string, bool) { return s.Word(class, text[from:to]), true }
}

// mailOf replaces mail addresses, except for credentials in a URL that were already
// replaced.
func mailOf(s *Scrubber, text string, from, to int) (string, bool) {
	if strings.HasPrefix(text[from:to], scrubbed+"@") {
		return "", false
	}
	return s.Word("mail", text[from:to]), true
}

func asSecret(*Scrubber, string, int, int) (string, bool) { return scrubbed, true }

// patterns are applied before the learned words, addressPatterns after them. They are made at
// the first use, as are the other expressions of this package: all commands of the program
// link it.
var patterns = sync.OnceValue(func() []pattern {
	return []pattern{
		// Error messages about a file quote parts of it.
		{
			re:   regexp.MustCompile(`\b(?:field|[Kk]ey) ("[^"]*"|\S+) (?:not found in|occurs twice|is already|already)`),
			with: asSecret,
		},
		{re: regexp.MustCompile(`\bparse ("[^"]*"):`), with: asSecret},
		{re: regexp.MustCompile(`(?i)\b(?:ssh|tcp|https?|socks5h?)://(?:[^/\s"'@]*@)?([^/\s"':@,]+)`), with: hostOf},
		{re: regexp.MustCompile(`://([^/\s"'@]+)@`), with: asSecret},
		{re: regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9+/=._~-]{8,})`), with: asSecret},
		{
			re: regexp.MustCompile(
				`(?i)[\w.-]*(?:passw(?:or)?d|secret|token|credential|api_?key|private_?key)[\w.-]*["']?\s*[=:]\s*["']?([^\s"',;]+)`),
			with: asSecret,
		},
		{re: regexp.MustCompile(`\b([A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+)\b`), with: mailOf},
		{re: regexp.MustCompile(`/(?:home|Users|users)/([^/\s"':,;]+)`), with: as(User)},
		{re: regexp.MustCompile(`\(UUID:\s*([^)\s]+)\s*\)`), with: ifStated(UUID)},
		{
			re:   regexp.MustCompile(`(?im)^[ \t]*[\w .]*serial[\w ]*:[ \t]*((?:[0-9a-f]{2} ){3,}[0-9a-f]{2})[ \t]*$`),
			with: spacedSerial,
		},
		{re: regexp.MustCompile(`(?im)^[ \t]*[\w .]*(?:serial[\w ]*|\bsn)[ \t]*:[ \t]*(\S+)[ \t]*$`), with: ifStated(Serial)},
		{re: regexp.MustCompile(`(?im)^timestamp[ \t]*:[ \t]*(\S.*)$`), with: asSecret},
	}
})

var addressPatterns = sync.OnceValue(func() []pattern {
	return []pattern{
		{
			re:   regexp.MustCompile(`(?i)\b((?:S?GPU-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`),
			with: as(UUID),
		},
		{re: regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}[:-]){5,7}[0-9a-f]{2}\b`), with: as(address)},
		{re: regexp.MustCompile(`(?i)\b[0-9a-f]{32,}\b`), with: as(hex)},
		{re: regexp.MustCompile(`(?i)[0-9a-f:]*::?[0-9a-f:]+(?:\.[0-9]+){0,3}`), with: addressOf},
		{re: regexp.MustCompile(`\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b`), with: addressOf},
	}
})

// emptyValues are the words of the vendor's programs for a missing value.
var emptyValues = []string{"", "-", "na", "n/a", "none", "unknown", "-1"}

// ifStated replaces a match unless it stands for a missing value.
func ifStated(class Class) func(*Scrubber, string, int, int) (string, bool) {
	return func(s *Scrubber, text string, from, to int) (string, bool) {
		word := text[from:to]
		if slices.Contains(emptyValues, strings.ToLower(word)) {
			return "", false
		}
		return s.Word(class, word), true
	}
}

func hostOf(s *Scrubber, text string, from, to int) (string, bool) {
	word := strings.ToLower(text[from:to])
	if word == "localhost" || word == "0.0.0.0" || strings.HasPrefix(word, "127.") {
		return "", false
	}
	return s.Word(Host, word), true
}

// versioned matches a text before four numbers that are a version, not an address.
var versioned = lazyregexp.New(`(?i)(?:version\W{0,40}|maca[-/ ]|maca\W{1,6}|\bv)$`)

// addressOf replaces IP addresses, except for loopback and unspecified addresses.
func addressOf(s *Scrubber, text string, from, to int) (string, bool) {
	word, before := text[from:to], text[max(0, from-48):from]
	if (before != "" && (isWordByte(before[len(before)-1]) || before[len(before)-1] == '.')) ||
		(to < len(text) && (isWordByte(text[to]) || (text[to] == '.' && to+1 < len(text) && isWordByte(text[to+1])))) {
		return "", false
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(word, ":"))
	if err != nil || ip.IsLoopback() || ip.IsUnspecified() || s.versions[word] ||
		(ip.Is4() && versioned().MatchString(before)) {
		return "", false
	}
	return s.Word(address, word), true
}
