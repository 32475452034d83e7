package mxsmi

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Log is the output of a `--show-*` query:
//
//	mx-smi  version: 2.2.9
//	=================== MetaX System Management Interface Log ===================
//	Attached GPUs                                     : 8
//	GPU#0  MXC500  0000:08:00.0
//	    ECC Errors
//	        SRAM Correctable                          : 0
//	End of Log
type Log struct {
	// Head are the lines before the first GPU, such as "Attached GPUs".
	Head []Entry
	// Sections are the GPUs in the order of the text.
	Sections []Section
	// Ended tells whether the text has its last line, "End of Log".
	Ended    bool
	Warnings []string
}

// Section is what the log says of one GPU.
type Section struct {
	Index   int     // "GPU#0"
	Model   string  // "MXC500"
	BDF     gpu.BDF // "0000:08:00.0"
	Entries []Entry // in the order of the text
}

// Entry is a line "Key : Value".
type Entry struct {
	Group string // the heading above it, by indentation; empty if there is none
	Key   string // inner blanks squeezed to one
	Value string // may be empty
}

// Value returns the value of the first entry with this key, in any group.
func (s Section) Value(key string) (string, bool) {
	for _, e := range s.Entries {
		if e.Key == key {
			return e.Value, true
		}
	}
	return "", false
}

// ParseSections reads the output of any `--show-*` query. A GPU's line that
// cannot be read is a warning, and what stands below it is left out, as are
// sliced GPUs. A text without any GPU is an error.
func ParseSections(text string) (Log, error) {
	p := sectionParser{}
	p.into = &p.Head
	for n, line := range lines(text) {
		if strings.TrimSpace(line) == "End of Log" {
			p.Ended = true
			break
		}
		p.line(n, line)
	}
	if !p.seen {
		return Log{}, fmt.Errorf(`read sections: %w: no line begins with "GPU#"`, ErrFormat)
	}
	return p.Log, nil
}

type sectionParser struct {
	Log
	seen  bool     // a line of a GPU, readable or not
	into  *[]Entry // where entries go; nil below a line that was not understood
	group string
	depth int // the indentation of group's line
}

func (p *sectionParser) line(n int, line string) {
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
	case strings.HasPrefix(trimmed, "SGPU"):
		p.into, p.group = nil, ""
	case strings.HasPrefix(trimmed, gpuPrefix):
		p.seen = true
		p.into, p.group = nil, ""
		s, err := parseSection(trimmed)
		if err != nil {
			p.Warnings = append(p.Warnings, fmt.Sprintf("line %d: leave out a section: %v", n, err))
			return
		}
		p.Sections = append(p.Sections, s)
		p.into = &p.Sections[len(p.Sections)-1].Entries
	case p.into != nil:
		p.entry(line, trimmed)
	}
}

// entry reads a heading or a line "Key : Value". A heading holds for the lines
// that are indented further than it is.
func (p *sectionParser) entry(line, trimmed string) {
	depth := len(line) - len(strings.TrimLeft(line, " \t"))
	key, value, isEntry := strings.Cut(trimmed, ":")
	if depth <= p.depth {
		p.group = ""
	}
	if !isEntry {
		p.group, p.depth = trimmed, depth
		return
	}
	key = strings.Join(strings.Fields(key), " ")
	*p.into = append(*p.into, Entry{Group: p.group, Key: key, Value: strings.TrimSpace(value)})
}

// parseSection reads "GPU#0  MXC500  0000:08:00.0".
func parseSection(line string) (s Section, err error) {
	fields := strings.Fields(line)
	if s.Index, err = parseIndex(fields[0]); err != nil {
		return s, err
	}
	if len(fields) != 3 || !isPlain(fields[1]) {
		return s, fmt.Errorf("%q; want index, model and PCI address", line)
	}
	s.Model = fields[1]
	s.BDF, err = gpu.ParseBDF(fields[2])
	return s, err
}
