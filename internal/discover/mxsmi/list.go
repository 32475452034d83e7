package mxsmi

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// ErrFormat reports a text that is not what mx-smi prints, or that contradicts
// itself so far that nothing in it can be trusted.
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
	UUID  gpu.UUID // empty where the line has none, or none that can be one
}

// Available reports whether the tool calls the GPU usable. A line without a state
// says nothing against it.
func (l Listed) Available() bool { return l.State == "" || l.State == available }

const (
	available   = "Available"
	unavailable = "Unavailable"
)

// ParseList reads the output of `mx-smi -L`. A line that cannot be read, an
// index or address that occurs twice, and a UUID that is none or occurs twice
// are warnings; what they concern is left out. A text without any GPU line is an
// error.
func ParseList(text string) (List, error) {
	p := listParser{}
	for n, line := range lines(text) {
		p.line(n, line)
	}
	if !p.seen {
		return List{}, fmt.Errorf(`read list of GPUs: %w: no line begins with "GPU#"`, ErrFormat)
	}
	p.dropTwins("index", func(l Listed) string { return strconv.Itoa(l.Index) })
	p.dropTwins("PCI address", func(l Listed) string { return l.BDF.String() })
	p.dropTwinUUIDs()
	return p.List, nil
}

type listParser struct {
	List
	seen bool // a line of a GPU, readable or not
}

func (p *listParser) warn(format string, a ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, a...))
}

func (p *listParser) line(n int, line string) {
	// "SGPU" is a part of a GPU, not one of its own.
	if strings.Contains(line, "SGPU") || !strings.HasPrefix(strings.TrimSpace(line), gpuPrefix) {
		return
	}
	p.seen = true
	l, warnings, err := parseListed(line)
	for _, w := range warnings {
		p.warn("line %d: %s", n, w)
	}
	if err != nil {
		p.warn("line %d: leave out a GPU: %v", n, err)
		return
	}
	p.GPUs = append(p.GPUs, l)
}

// parseListed reads one line. The address tells the columns apart: the model
// stands before it, the state behind it.
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
	if !isPlain(l.Model) {
		warnings = append(warnings, fmt.Sprintf("GPU %s has the model name %q, which is left out", l.BDF, l.Model))
		l.Model = ""
	}
	if !l.Available() && l.State != unavailable {
		warnings = append(warnings, fmt.Sprintf("GPU %s has the state %q, taken as unhealthy", l.BDF, l.State))
	}
	if !hasUUID {
		return l, append(warnings, fmt.Sprintf("GPU %s has no UUID", l.BDF)), nil
	}
	if l.UUID, err = parseListedUUID(tail); err != nil {
		warnings = append(warnings, fmt.Sprintf("leave out the UUID of GPU %s: %v", l.BDF, err))
	}
	return l, warnings, nil
}

// parseListedUUID reads what follows "(UUID:". Only blanks may surround the
// UUID: another control character makes it none.
func parseListedUUID(tail string) (gpu.UUID, error) {
	end := strings.LastIndexByte(tail, ')')
	if end < 0 || strings.TrimSpace(tail[end+1:]) != "" {
		return "", fmt.Errorf("no closing bracket ends %q", tail)
	}
	return gpu.ParseUUID(strings.Trim(tail[:end], " \t"))
}

// dropTwins leaves out all GPUs that share an identity that can only be one
// GPU's: which line tells the truth cannot be known.
func (p *listParser) dropTwins(what string, key func(Listed) string) {
	count := map[string]int{}
	for _, l := range p.GPUs {
		count[key(l)]++
	}
	p.GPUs = slices.DeleteFunc(p.GPUs, func(l Listed) bool {
		twin := count[key(l)] > 1
		if twin {
			p.warn("leave out GPU#%d %s: its %s is listed %d times", l.Index, l.BDF, what, count[key(l)])
		}
		return twin
	})
}

// dropTwinUUIDs forgets a UUID that two GPUs have, on both.
func (p *listParser) dropTwinUUIDs() {
	key := func(u gpu.UUID) string { return strings.ToLower(string(u)) }
	owners := map[string][]string{}
	for _, l := range p.GPUs {
		owners[key(l.UUID)] = append(owners[key(l.UUID)], l.BDF.String())
	}
	for i, l := range p.GPUs {
		if twins := owners[key(l.UUID)]; l.UUID != "" && len(twins) > 1 {
			if twins[0] == l.BDF.String() {
				p.warn("leave out the UUID %s: GPUs %s have it", l.UUID, strings.Join(twins, " and "))
			}
			p.GPUs[i].UUID = ""
		}
	}
}
