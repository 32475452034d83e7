// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// ErrFormat reports a text that is not output of mx-smi, or that is too contradictory
// to be trusted.
var ErrFormat = errors.New("not understood")

// List is the output of `mx-smi -L`.
type List struct {
	GPUs     []Listed
	Warnings []string
}

// Listed is one line of the list:
//
//	GPU#0    MXC500      0000:08:00.0   Available (UUID: GPU-e702f06b-…)
type Listed struct {
	Index int      // "GPU#0"
	Model string   // "MXC500"
	BDF   gpu.BDF  // "0000:08:00.0"
	State string   // "Available"; empty where the line has none
	UUID  gpu.UUID // empty if the line has none or an invalid one
}

// Available reports whether the tool calls the GPU usable. A GPU whose line has no
// state counts as available.
func (l Listed) Available() bool { return l.State == "" || l.State == available }

const (
	available   = "Available"
	unavailable = "Unavailable"
)

// ParseList parses the output of `mx-smi -L`. A line that cannot be parsed, a duplicate
// index or address, and an invalid or duplicate UUID are warnings, and the GPU or UUID
// is left out. A text without any GPU line is an error.
func ParseList(text string) (List, error) {
	p := listParser{}
	for n, line := range numberedLines(text) {
		p.line(n, line)
	}
	if !p.seen {
		return List{}, fmt.Errorf(`read list of GPUs: %w: no line begins with "GPU#"`, ErrFormat)
	}
	p.dropDuplicates("index", func(l Listed) string { return strconv.Itoa(l.Index) })
	p.dropDuplicates("PCI address", func(l Listed) string { return l.BDF.String() })
	p.dropSharedUUIDs()
	return p.List, nil
}

type listParser struct {
	List
	seen bool // whether there was a line of a GPU, valid or not
}

func (p *listParser) warn(format string, a ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, a...))
}

func (p *listParser) line(n int, line string) {
	// "SGPU" is a slice of a GPU.
	if strings.Contains(line, "SGPU") || !strings.HasPrefix(strings.TrimSpace(line), gpuPrefix) {
		return
	}
	p.seen = true
	l, warnings, err := parseListed(line)
	for _, w := range warnings {
		p.warn("line %d: %s", n, w)
	}
	if err != nil {
		p.warn("line %d: ignored a GPU: %v", n, err)
		return
	}
	p.GPUs = append(p.GPUs, l)
}

// parseListed parses one line. The address separates the columns: the model is before
// it, the state after it.
func parseListed(line string) (l Listed, warnings []string, err error) {
	head, tail, hasUUID := strings.Cut(line, "(UUID:")
	fields := strings.Fields(head)
	if l.Index, err = parseIndex(fields[0]); err != nil {
		return l, nil, err
	}
	at := slices.IndexFunc(fields, func(f string) bool { _, err := gpu.ParseBDF(f); return err == nil })
	if at < 0 {
		return l, nil, fmt.Errorf("%s has no PCI address such as 0000:08:00.0", fields[0])
	}
	l.BDF, _ = gpu.ParseBDF(fields[at])
	l.Model = strings.Join(fields[1:at], " ")
	l.State = strings.Join(fields[at+1:], " ")
	if !isPrintable(l.Model) {
		warnings = append(warnings, fmt.Sprintf("ignored the model name %q of GPU %s", l.Model, l.BDF))
		l.Model = ""
	}
	if !l.Available() && l.State != unavailable {
		warnings = append(warnings, fmt.Sprintf("GPU %s has the unknown state %q and counts as unhealthy", l.BDF, l.State))
	}
	if !hasUUID {
		return l, append(warnings, fmt.Sprintf("GPU %s has no UUID", l.BDF)), nil
	}
	if l.UUID, err = parseListedUUID(tail); err != nil {
		warnings = append(warnings, fmt.Sprintf("ignored the UUID of GPU %s: %v", l.BDF, err))
	}
	return l, warnings, nil
}

// parseListedUUID parses what follows "(UUID:". Only blanks and tabs may surround the
// UUID; with any other control character it is invalid.
func parseListedUUID(tail string) (gpu.UUID, error) {
	end := strings.LastIndexByte(tail, ')')
	if end < 0 || strings.TrimSpace(tail[end+1:]) != "" {
		return "", fmt.Errorf("%q does not end in a closing parenthesis", tail)
	}
	word := strings.Trim(tail[:end], " \t")
	if word == "NA" { // as of a GPU that is split into virtual functions
		return "", nil
	}
	return gpu.ParseUUID(word)
}

// dropDuplicates leaves out all GPUs that have the same index or address, because it is
// unknown which line is right.
func (p *listParser) dropDuplicates(what string, key func(Listed) string) {
	count := map[string]int{}
	for _, l := range p.GPUs {
		count[key(l)]++
	}
	p.GPUs = slices.DeleteFunc(p.GPUs, func(l Listed) bool {
		duplicate := count[key(l)] > 1
		if duplicate {
			p.warn("ignored GPU#%d %s: its %s is listed %d times", l.Index, l.BDF, what, count[key(l)])
		}
		return duplicate
	})
}

// dropSharedUUIDs clears a UUID that several GPUs have, on all of them.
func (p *listParser) dropSharedUUIDs() {
	key := func(u gpu.UUID) string { return strings.ToLower(string(u)) }
	owners := map[string][]string{}
	for _, l := range p.GPUs {
		owners[key(l.UUID)] = append(owners[key(l.UUID)], l.BDF.String())
	}
	for i, l := range p.GPUs {
		if sharers := owners[key(l.UUID)]; l.UUID != "" && len(sharers) > 1 {
			if sharers[0] == l.BDF.String() {
				p.warn("ignored the UUID %s: GPUs %s share it", l.UUID, strings.Join(sharers, " and "))
			}
			p.GPUs[i].UUID = ""
		}
	}
}
