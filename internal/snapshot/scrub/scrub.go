// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
)

// Class is a kind of words that identify a node or its users.
type Class string

// The classes of words for Learn. A Scrubber recognizes words of other classes by their
// form.
const (
	UUID   Class = "uuid" // a UUID of an unusual form
	Serial Class = "serial"
	Host   Class = "host"
	User   Class = "user"
	Alias  Class = "alias" // of a slice
	Name   Class = "name"  // of a container
	Image  Class = "image"
	// Container is a container's shortened ID.
	Container Class = "container"
	// Version is a version that looks like an IP address. It is not replaced.
	Version Class = "version"
)

// Scrubber replaces words that identify a node or its users by stand-ins, numbered in
// the order of occurrence: the same word has the same stand-in everywhere.
type Scrubber struct {
	literals map[Class]map[string]bool
	versions map[string]bool
	standins map[Class]map[string]string
	issued   map[string]bool // the stand-ins
	order    []pattern       // of literals, the longest first; nil after Learn
	root     string          // see Root
}

// New returns a Scrubber that recognizes words by their form only.
func New() *Scrubber {
	return &Scrubber{
		literals: map[Class]map[string]bool{}, versions: map[string]bool{},
		standins: map[Class]map[string]string{}, issued: map[string]bool{},
	}
}

// commonWords are words that identify nobody as a name, because they are common in
// texts or occur in stand-ins.
var commonWords = strings.Fields(commonText)

//go:embed common.txt
var commonText string

// formatWords are words that parsers read in files and answers. Where they read, such a word
// is not a name, although a host or a user may have it; numbered matches heads of columns,
// device nodes, libraries and numbers.
var (
	formatWords = strings.Fields(`active affinity and at attached available between bind block bridge bridges build
	busid by-path card cgroupfs character class commit compute containerd cpu crio crun default dep device devices
	devname devtype disabled dist-upgrade distance dkms docker driver drivers drm drm_minor enabled error eth exclusive
	extra failed firmware from generic go healthy hostname id id_like include initstate instance interconnect interface
	itself kernel known legend lib lib64 libexec link live local log maca macainfo machine major management matrix
	memory metax metaxlink minor modalias mode model module modules most mx-smi mxcd mxdriver mxgd mxgpu_llvm mxgvm
	mxnd name native nerdctl nic node nodes not numa ompi one online or os-release osrelease pci pci_class pci_id
	pci_slot_name pci_subsys_id pcie phb pix possible pretty_name private proc process product pxb random render
	rprivate rshared rslave runc serial several sgpu sgpu-parent-dev sgpu-sub-dev shared sim simulated slice spec state
	switch sys system systemd the through timestamp total txt type ucx uevent updates used uuid vbios vendor version
	version_codename version_id vf virtual`)
	numbered = lazyregexp.New(`^(?:(?:gpu|nic|card|renderd|port|mlx5_|go)[0-9]+|mxc?[0-9]*|(?:un)?available|lib[\w.-]+|maca-[\w.-]+|(?:0x)?[0-9a-f]*[0-9][0-9a-f]*(?:[:.][0-9a-f]*)*)$`)
)

// isFormatWord reports whether parsers may read a word of a class. UUIDs, serial numbers and
// IDs of containers are values, also where they look like a number.
func isFormatWord(class Class, w string) bool {
	if class == UUID || class == Serial || class == Container {
		return false
	}
	w = strings.ToLower(w)
	return slices.Contains(formatWords, w) || numbered().MatchString(w)
}

// Learn adds words of a class. Short and common words are ignored.
func (s *Scrubber) Learn(class Class, words ...string) {
	for _, w := range words {
		w = strings.TrimSpace(w)
		if class == Version {
			s.versions[w] = w != ""
			continue
		}
		if class == Host {
			w, _, _ = strings.Cut(w, ".") // learnedPatterns also matches its domain
		}
		if len(w) < 3 || len(w) > 256 || slices.Contains(commonWords, strings.ToLower(w)) ||
			strings.ContainsAny(w, "\n\r\t \"") {
			continue
		}
		if (class == Serial || class == UUID) && len(w) < 5 {
			continue
		}
		if s.literals[class] == nil {
			s.literals[class] = map[string]bool{}
		}
		s.literals[class][w], s.order = true, nil
	}
}

// Root removes the path dir, below which the host's files are, from paths in all texts,
// so that they begin at the host's "/".
func (s *Scrubber) Root(dir string) { s.root = strings.TrimSuffix(dir, "/") }

// withoutRoot removes the root from the beginning of paths. It stays as part of a longer
// name or in the middle of a path.
func (s *Scrubber) withoutRoot(text string) string {
	if s.root == "" {
		return text
	}
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(text[at:], s.root)
		if i < 0 {
			return b.String() + text[at:]
		}
		from, to := at+i, at+i+len(s.root)
		b.WriteString(text[at:from])
		switch {
		case (from > 0 && inPath(text[from-1])) || continues(text[to:]):
			b.WriteString(s.root)
		case to == len(text) || text[to] != '/':
			b.WriteByte('/')
		}
		at = to
	}
}

// inPath reports whether a byte may be part of a path.
func inPath(c byte) bool { return isWordByte(c) || c >= 0x80 || strings.IndexByte("-./~", c) >= 0 }

// continues reports whether a text continues the name before it. A full stop may end a
// sentence.
func continues(text string) bool {
	if rest := strings.TrimLeft(text, ".-"); len(rest) < len(text) && rest != "" {
		return inPath(rest[0])
	}
	return text != "" && text[0] != '/' && text[0] != '.' && inPath(text[0])
}

// learnedPatterns matches each learned word where it is not part of a longer word, and
// the domain after a host name.
func (s *Scrubber) learnedPatterns() []pattern {
	if s.order != nil {
		return s.order
	}
	type literal struct {
		class Class
		word  string
	}
	var all []literal
	for class, words := range s.literals {
		for w := range words {
			all = append(all, literal{class, w})
		}
	}
	slices.SortFunc(all, func(a, b literal) int {
		return cmp.Or(cmp.Compare(len(b.word), len(a.word)), strings.Compare(a.word, b.word),
			strings.Compare(string(a.class), string(b.class)))
	})
	edge := map[bool]string{true: `\b`, false: `\B`} // no letter, digit or underscore may be next to it
	s.order = []pattern{}
	for _, l := range all {
		re := edge[isWordByte(l.word[0])] + regexp.QuoteMeta(l.word) + edge[isWordByte(l.word[len(l.word)-1])]
		switch l.class {
		case Host:
			re = `(?i)` + re + `(?:\.[a-z0-9][a-z0-9-]*)*`
		case UUID:
			re = `(?i)` + re
		default: // as it was learned, in the same letters
		}
		if l.class == Serial {
			s.order = append(s.order,
				pattern{re: regexp.MustCompile(`(?i)\b` + spacedHex(l.word) + `\b`), word: spacedHex(l.word), with: spacedSerial})
		}
		s.order = append(s.order, pattern{
			re: regexp.MustCompile(re), word: strings.ToLower(l.word), format: isFormatWord(l.class, l.word),
			with: func(s *Scrubber, _ string, _, _ int) (string, bool) { return s.Word(l.class, l.word), true },
		})
	}
	return s.order
}

// Word is the stand-in of a whole word of a class, even if Learn would ignore the word.
func (s *Scrubber) Word(class Class, w string) string {
	if w == "" || s.issued[w] {
		return w
	}
	prefix, key := "", w
	if class == UUID {
		prefix, key = splitUUID(w)
	}
	if class != Alias && class != Serial {
		key = strings.ToLower(key)
	}
	of := s.standins[class]
	if of == nil {
		of = map[string]string{}
		s.standins[class] = of
	}
	if _, ok := of[key]; !ok {
		of[key] = standin(class, w, len(of)+1)
	}
	s.issued[prefix+of[key]] = true
	return prefix + of[key]
}

// standin is the nth stand-in of a class.
func standin(class Class, w string, n int) string {
	switch class {
	case UUID:
		return fmt.Sprintf("00000000-0000-0000-0000-%012d", n)
	case Serial:
		return fmt.Sprintf("SERIAL%06d", n)
	case hex:
		return fmt.Sprintf("%0*d", len(w), n)
	default: // a word, such as "host-1"
		return fmt.Sprintf("%s-%d", class, n)
	}
}

// splitUUID splits the prefix from a word such as "GPU-3fd4ee8f-…".
func splitUUID(w string) (prefix, rest string) {
	for _, p := range []string{"GPU-", "SGPU-"} {
		if len(w) > len(p) && strings.EqualFold(w[:len(p)], p) {
			return w[:len(p)], w[len(p):]
		}
	}
	return "", w
}

// Text returns a text with stand-ins.
func (s *Scrubber) Text(text string) string { return s.replace(s.withoutRoot(text), false) }

// Parsed is Text for a text that a parser reads: words of the formats stay, whoever has them
// as a name.
func (s *Scrubber) Parsed(text string) string { return s.Path(s.withoutRoot(text)) }

// Path is Parsed for a path that already begins at the host's "/".
func (s *Scrubber) Path(text string) string { return s.replace(text, true) }

func (s *Scrubber) replace(text string, parsed bool) string {
	lower := strings.ToLower(text)
	for _, p := range slices.Concat(patterns(), s.learnedPatterns(), addressPatterns()) {
		if parsed && p.format {
			continue
		}
		if strings.Contains(lower, p.word) { // fast check: nodes with a thousand GPUs have many patterns
			text = p.replaceMatches(s, text)
		}
	}
	return text
}

func isWordByte(c byte) bool {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'
}
