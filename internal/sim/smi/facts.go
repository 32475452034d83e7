// SPDX-License-Identifier: Apache-2.0

package smi

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// FactsFile is where the facts are, below the driver's directory.
const FactsFile = "share/mx-smi/node.txt"

// Facts are what mx-smi says of a node.
type Facts struct {
	Home    string   // the driver's directory, as an absolute path of the host
	Driver  string   // version
	MACA    []string // the paths at which its version is looked for
	Load    string   // of each GPU, in percent
	GPUs    []GPU
	NICs    []NIC
	Meaning [][2]string // each kind of link and what it means, in the order in which they are listed
}

// GPU is a GPU of the host.
type GPU struct {
	Render          string // name of its render node, "none" without one
	Model, BDF      string
	UUID, Serial    string
	MemoryMiB       int
	State           string
	NUMA, CPUs      string
	Cells, NICCells []string // its row of the matrix: the links to all GPUs and to all network cards
	VBIOS           string
}

// NIC is a network card, with its row of the matrix.
type NIC struct {
	Name            string
	Cells, NICCells []string
}

const head = `# What the mx-smi of this tree says of the node, one line a thing: edit it, and mx-smi says the rest.
# gpu RENDER MODEL BDF UUID SERIAL MIB STATE NUMA CPUS LINKS NICLINKS VBIOS
`

// Text returns the facts as the file has them.
func (f Facts) Text() string {
	var b strings.Builder
	b.WriteString(head)
	line := func(word string, values ...string) {
		b.WriteString(word)
		for _, v := range values {
			if v == "" || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) {
				v = strconv.Quote(v)
			}
			b.WriteString(" " + v)
		}
		b.WriteString("\n")
	}
	line("home", f.Home)
	line("driver", f.Driver)
	line("maca", f.MACA...)
	line("load", f.Load)
	for _, g := range f.GPUs {
		line("gpu", g.Render, g.Model, g.BDF, g.UUID, g.Serial, strconv.Itoa(g.MemoryMiB), g.State, g.NUMA, g.CPUs,
			strings.Join(g.Cells, " "), strings.Join(g.NICCells, " "), g.VBIOS)
	}
	for _, n := range f.NICs {
		line("nic", n.Name, strings.Join(n.Cells, " "), strings.Join(n.NICCells, " "))
	}
	for _, m := range f.Meaning {
		line("kind", m[:]...)
	}
	return b.String()
}

// errFacts reports a line that is not one of Facts.
var errFacts = errors.New("it is not a line of the facts")

// ParseFacts reads the text of a file. Errors name the line.
func ParseFacts(text string) (f Facts, err error) {
	for at, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		values, err := split(rest)
		if err == nil {
			err = f.add(word, values)
		}
		if err != nil {
			return Facts{}, fmt.Errorf("line %d: %w", at+1, err)
		}
	}
	for _, g := range f.GPUs {
		if len(g.Cells) != len(f.GPUs) || len(g.NICCells) != len(f.NICs) {
			return Facts{},
				fmt.Errorf("GPU %s: %w: the links of %d GPUs and %d network cards", g.BDF, errFacts, len(f.GPUs), len(f.NICs))
		}
	}
	for _, n := range f.NICs {
		if len(n.Cells) != len(f.GPUs) || len(n.NICCells) != len(f.NICs) {
			return Facts{}, fmt.Errorf("network card %s: %w: the links of %d GPUs and %d network cards", n.Name, errFacts,
				len(f.GPUs), len(f.NICs))
		}
	}
	if !path.IsAbs(f.Home) {
		return Facts{}, fmt.Errorf("home: %w", errFacts)
	}
	return f, nil
}

// add adds the values of a line.
func (f *Facts) add(word string, v []string) error {
	if n, ok := map[string]int{"home": 1, "driver": 1, "maca": 2, "load": 1, "gpu": 12, "nic": 3, "kind": 2}[word]; !ok ||
		len(v) != n {
		return errFacts
	}
	switch word {
	case "home":
		f.Home = v[0]
	case "driver":
		f.Driver = v[0]
	case "maca":
		f.MACA = v
	case "load":
		f.Load = v[0]
	case "gpu":
		mib, err := strconv.Atoi(v[5])
		if err != nil || mib < 0 {
			return cmp.Or(err, errFacts)
		}
		f.GPUs = append(f.GPUs, GPU{
			Render: v[0], Model: v[1], BDF: v[2], UUID: v[3], Serial: v[4], MemoryMiB: mib,
			State: v[6], NUMA: v[7], CPUs: v[8], Cells: strings.Fields(v[9]), NICCells: strings.Fields(v[10]), VBIOS: v[11],
		})
	case "nic":
		f.NICs = append(f.NICs, NIC{v[0], strings.Fields(v[1]), strings.Fields(v[2])})
	case "kind":
		f.Meaning = append(f.Meaning, [2]string{v[0], v[1]})
	}
	return nil
}

// split returns the words of a line, without their quotes.
func split(line string) (words []string, err error) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		word, rest, _ := strings.Cut(line, " ")
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, err
			}
			rest = line[len(quoted):]
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
		}
		words, line = append(words, word), rest
	}
	return words, nil
}
