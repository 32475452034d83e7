package scrub

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// The classes that are known by their form.
const (
	address Class = "address"
	hex     Class = "hex"
)

// scrubbed stands for a secret.
const scrubbed = "scrubbed"

// pattern finds words by their form. The first group, if there is one, is what is
// replaced.
type pattern struct {
	re *regexp.Regexp
	// with is the stand-in of a match in its text; not ok leaves it.
	with func(s *Scrubber, text string, from, to int) (string, bool)
	word string // in lower case, which every match has; empty if it is not known
}

func (p pattern) replace(s *Scrubber, text string) string {
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

// mailOf replaces mail addresses, of which credentials in a URL have the form.
func mailOf(s *Scrubber, text string, from, to int) (string, bool) {
	if strings.HasPrefix(text[from:to], scrubbed+"@") {
		return "", false
	}
	return s.Word("mail", text[from:to]), true
}

func secret(*Scrubber, string, int, int) (string, bool) { return scrubbed, true }

// patterns come before the words that were learned, numbers after them.
var patterns = []pattern{
	// What a reader says of a file names what is wrong in it.
	{re: regexp.MustCompile(`\b(?:field|[Kk]ey) ("[^"]*"|\S+) (?:not found in|occurs twice|is already|already)`), with: secret},
	{re: regexp.MustCompile(`\bparse ("[^"]*"):`), with: secret},
	{re: regexp.MustCompile(`(?i)\b(?:ssh|tcp|https?|socks5h?)://(?:[^/\s"'@]*@)?([^/\s"':@,]+)`), with: hostOf},
	{re: regexp.MustCompile(`://([^/\s"'@]+)@`), with: secret},
	{re: regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9+/=._~-]{8,})`), with: secret},
	{re: regexp.MustCompile(`(?i)[\w.-]*(?:passw(?:or)?d|secret|token|credential|api_?key|private_?key)[\w.-]*["']?\s*[=:]\s*["']?([^\s"',;]+)`), with: secret},
	{re: regexp.MustCompile(`\b([A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+)\b`), with: mailOf},
	{re: regexp.MustCompile(`/(?:home|Users|users)/([^/\s"':,;]+)`), with: as(User)},
	{re: regexp.MustCompile(`\(UUID:\s*([^)\s]+)\s*\)`), with: stated(UUID)},
	{re: regexp.MustCompile(`(?im)^[ \t]*[\w .]*(?:serial[\w ]*|\bsn)[ \t]*:[ \t]*(\S+)[ \t]*$`), with: stated(Serial)},
	{re: regexp.MustCompile(`(?im)^timestamp[ \t]*:[ \t]*(\S.*)$`), with: secret},
}

var numbers = []pattern{
	{re: regexp.MustCompile(`(?i)\b((?:S?GPU-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`), with: as(UUID)},
	{re: regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}[:-]){5,7}[0-9a-f]{2}\b`), with: as(address)},
	{re: regexp.MustCompile(`(?i)\b[0-9a-f]{32,}\b`), with: as(hex)},
	{re: regexp.MustCompile(`(?i)[0-9a-f:]*::?[0-9a-f:]+(?:\.[0-9]+){0,3}`), with: addressOf},
	{re: regexp.MustCompile(`\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b`), with: addressOf},
}

// unstated are the ways of the vendor's programs to say nothing.
var unstated = []string{"", "-", "na", "n/a", "none", "unknown", "-1"}

// stated replaces a match that says something.
func stated(class Class) func(*Scrubber, string, int, int) (string, bool) {
	return func(s *Scrubber, text string, from, to int) (string, bool) {
		word := text[from:to]
		if slices.Contains(unstated, strings.ToLower(word)) {
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

// versioned is what stands before four numbers that are a version.
var versioned = regexp.MustCompile(`(?i)(?:version\W{0,12}|maca[-/ ]|maca\W{1,6}|\bv)$`)

// addressOf replaces IP addresses but those that every machine has.
func addressOf(s *Scrubber, text string, from, to int) (string, bool) {
	word, before := text[from:to], text[max(0, from-24):from]
	if before != "" && (isWordByte(before[len(before)-1]) || before[len(before)-1] == '.') ||
		to < len(text) && (isWordByte(text[to]) || text[to] == '.' && to+1 < len(text) && isWordByte(text[to+1])) {
		return "", false
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(word, ":"))
	if err != nil || ip.IsLoopback() || ip.IsUnspecified() || s.versions[word] || ip.Is4() && versioned.MatchString(before) {
		return "", false
	}
	return s.Word(address, word), true
}
