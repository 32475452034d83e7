// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// selfCell is the word on the diagonal of the matrix.
const selfCell = "X"

// The headings of the columns after the links.
const (
	nodeAffinity = "Node Affinity"
	cpuAffinity  = "CPU Affinity"
)

// header is the line of column names:
//
//	GPU0  GPU1  NIC0  Node Affinity  CPU Affinity
type header struct {
	columns []device
	// headings are the names of the columns after the links; nil if there are none.
	headings []string
	// unread is the rest of the line, from the first unknown heading on.
	unread string
}

// device names a row or a column of the matrix: "GPU0", "NIC5".
type device struct {
	class string // "GPU", "NIC"
	n     int
}

func (d device) String() string { return d.class + strconv.Itoa(d.n) }

func (d device) isGPU() bool { return d.class == "GPU" }

func parseDevice(name string) (device, bool) {
	for _, class := range []string{"GPU", "NIC"} {
		if digits, ok := strings.CutPrefix(name, class); ok {
			n, err := parseNumber(digits)
			return device{class, n}, err == nil
		}
	}
	return device{}, false
}

func isDevice(name string) bool {
	_, ok := parseDevice(name)
	return ok
}

func parseHeader(fields []string) (header, error) {
	var h header
	for len(fields) > 0 && isDevice(fields[0]) {
		d, _ := parseDevice(fields[0])
		if slices.Contains(h.columns, d) {
			return header{}, fmt.Errorf("column %s occurs twice", d)
		}
		h.columns = append(h.columns, d)
		fields = fields[1:]
	}
	for h.unread = strings.Join(fields, " "); h.unread != ""; {
		heading, rest, ok := cutHeading(h.unread)
		if !ok {
			break
		}
		h.headings = append(h.headings, heading)
		h.unread = rest
	}
	return h, nil
}

func cutHeading(s string) (heading, rest string, ok bool) {
	for _, heading := range []string{nodeAffinity, cpuAffinity} {
		if rest, ok := strings.CutPrefix(s, heading); ok {
			return heading, strings.TrimPrefix(rest, " "), true
		}
	}
	return "", s, false
}

// isWord reports whether a cell begins with a letter and has letters and digits only, so that
// it is not a number or a range from the affinity columns.
func isWord(s string) bool {
	isLetter := func(r rune) bool { return (r >= 'A' && r <= 'Z') || (r >= 'a' && r <= 'z') }
	return s != "" && isLetter(rune(s[0])) &&
		!strings.ContainsFunc(s, func(r rune) bool { return !isLetter(r) && (r < '0' || r > '9') })
}
