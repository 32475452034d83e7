package mxsmi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// selfCell is the cell in which a device meets itself.
const selfCell = "X"

// The headings behind the columns of links.
const (
	nodeAffinity = "Node Affinity"
	cpuAffinity  = "CPU Affinity"
)

// header is the line of column names:
//
//	GPU0  GPU1  NIC0  Node Affinity  CPU Affinity
type header struct {
	columns []device
	// headings are those of the columns behind the links; nil if there is none.
	headings []string
	// unread is what stands there and is no heading known here.
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

// isWord reports whether a cell is a word, as every kind of link is, and not a
// number or a range that slipped in from the affinities.
func isWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })
}
