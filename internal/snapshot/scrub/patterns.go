package scrub

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// The classes that are known by their form.
const (
	ipv4 Class = "ipv4"
	ipv6 Class = "ipv6"
	mac  Class = "mac"
	hex  Class = "hex"
)

// scrubbed stands for a secret.
const scrubbed = "scrubbed"

// pattern finds words by their form. The first group, if there is one, is what is
// replaced.
type pattern struct {
	re *regexp.Regexp
	// with is the stand-in of a match in its text; not ok leaves it.
	with func(s *Scrubber, text string, from, to int) (string, bool)
}

func (p pattern) hits(s *Scrubber, text string) []hit {
	var all []hit
	for _, m := range p.re.FindAllStringSubmatchIndex(text, -1) {
		from, to := m[0], m[1]
		if len(m) > 2 {
			from, to = m[2], m[3]
		}
		if with, ok := p.with(s, text, from, to); ok {
			all = append(all, hit{from, to, with})
		}
	}
	return all
}

// as replaces every match by its stand-in of a class.
func as(class Class) func(*Scrubber, string, int, int) (string, bool) {
	return func(s *Scrubber, text string, from, to int) (string, bool) { return s.Word(class, text[from:to]), true }
}

func secret(*Scrubber, string, int, int) (string, bool) { return scrubbed, true }

// patterns come before the words that were learned, numbers after them.
var patterns = []pattern{
	{regexp.MustCompile(`(?i)\b(?:ssh|tcp|https?|socks5h?)://(?:[^/\s"'@]*@)?([^/\s"':@,]+)`), hostOf},
	{regexp.MustCompile(`://([^/\s"'@]+)@`), secret},
	{regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9+/=._~-]{8,})`), secret},
	{regexp.MustCompile(`(?i)[\w.-]*(?:passw(?:or)?d|secret|token|credential|api_?key|private_?key)[\w.-]*["']?\s*[=:]\s*["']?([^\s"',;]+)`), secret},
	{regexp.MustCompile(`\b([A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+)\b`), as("mail")},
	{regexp.MustCompile(`/(?:home|Users|users)/([^/\s"':,;]+)`), as(User)},
	{regexp.MustCompile(`\(UUID:\s*([^)\s]+)\s*\)`), stated(UUID)},
	{regexp.MustCompile(`(?im)^[ \t]*[\w .]*(?:serial[\w ]*|\bsn)[ \t]*:[ \t]*(\S+)[ \t]*$`), stated(Serial)},
	{regexp.MustCompile(`(?im)^timestamp[ \t]*:[ \t]*(\S.*)$`), secret},
}

var numbers = []pattern{
	{regexp.MustCompile(`(?i)\b((?:S?GPU-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`), as(UUID)},
	{regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}[:-]){5,7}[0-9a-f]{2}\b`), as(mac)},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{32,}\b`), as(hex)},
	{regexp.MustCompile(`(?i)[0-9a-f:]*::?[0-9a-f:]+(?:\.[0-9]+){0,3}`), addressOf(ipv6)},
	{regexp.MustCompile(`\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b`), addressOf(ipv4)},
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

// domain is what follows a host's name.
var domain = regexp.MustCompile(`^(?:\.[a-z0-9][a-z0-9-]*)+`)

// versioned is what stands before four numbers that are a version.
var versioned = regexp.MustCompile(`(?i)(?:version\W{0,12}|maca[-/ ]|maca\W{1,6}|\bv)$`)

// addressOf replaces IP addresses but those that every machine has.
func addressOf(class Class) func(*Scrubber, string, int, int) (string, bool) {
	return func(s *Scrubber, text string, from, to int) (string, bool) {
		word := text[from:to]
		before := text[max(0, from-24):from]
		if before != "" && (isWordByte(before[len(before)-1]) || before[len(before)-1] == '.') ||
			to < len(text) && (isWordByte(text[to]) || text[to] == '.' && to+1 < len(text) && isWordByte(text[to+1])) {
			return "", false
		}
		ip, err := netip.ParseAddr(strings.TrimSuffix(word, ":"))
		if err != nil || ip.IsLoopback() || ip.IsUnspecified() || s.versions[word] || class == ipv4 && versioned.MatchString(before) {
			return "", false
		}
		return s.Word(class, word), true
	}
}
