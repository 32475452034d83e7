// SPDX-License-Identifier: Apache-2.0

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
	// Sections are the GPUs in the order of the text.
	Sections []Section
	Warnings []string
}

// Section has the entries of one GPU.
type Section struct {
	BDF     gpu.BDF
	Entries []Entry // in the order of the text, whatever their headings
}

// Entry is a line "Key : Value".
type Entry struct {
	Key   string // with single blanks
	Value string // may be empty
}

// Value returns the value of the first entry with this key.
func (s Section) Value(key string) (string, bool) {
	for _, e := range s.Entries {
		if e.Key == key {
			return e.Value, true
		}
	}
	return "", false
}

// ParseSections parses the output of any `--show-*` query. A GPU's line that cannot be
// parsed is a warning; the entries below it are left out, as are those of sGPUs. A text
// without any GPU is an error.
func ParseSections(text string) (Log, error) {
	p := sectionParser{}
	for n, line := range numberedLines(text) {
		if strings.TrimSpace(line) == "End of Log" {
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
	seen bool     // whether there was a line of a GPU, valid or not
	into *[]Entry // the entries of the current section; nil outside of sections
}

func (p *sectionParser) line(n int, line string) {
	line = strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "SGPU"):
		p.into = nil
	case strings.HasPrefix(line, gpuPrefix):
		p.seen, p.into = true, nil
		bdf, err := parseSection(line)
		if err != nil {
			p.Warnings = append(p.Warnings, fmt.Sprintf("line %d: ignored a section: %v", n, err))
			return
		}
		p.Sections = append(p.Sections, Section{BDF: bdf})
		p.into = &p.Sections[len(p.Sections)-1].Entries
	case p.into != nil:
		if key, value, ok := strings.Cut(line, ":"); ok {
			*p.into = append(*p.into, Entry{strings.Join(strings.Fields(key), " "), strings.TrimSpace(value)})
		}
	}
}

// parseSection parses "GPU#0  MXC500  0000:08:00.0".
func parseSection(line string) (gpu.BDF, error) {
	fields := strings.Fields(line)
	if _, err := parseIndex(fields[0]); err != nil {
		return gpu.BDF{}, err
	}
	if len(fields) != 3 || !isPrintable(fields[1]) {
		return gpu.BDF{}, fmt.Errorf("%q; want index, model and PCI address", line)
	}
	return gpu.ParseBDF(fields[2])
}
