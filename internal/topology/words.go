package topology

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// clean makes a word from outside safe to show: what is not printable, such as
// a terminal's escape character or a change of writing direction, becomes U+FFFD.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// cells is the width of s in terminal columns. East Asian characters and the
// symbols beyond the basic plane take two.
func cells(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
			r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0x1f300:
			n += 2
		default:
			n++
		}
	}
	return n
}

// fit shortens s to at most n columns.
func fit(s string, n int) string {
	if cells(s) <= n {
		return s
	}
	used := 0
	for at, r := range s {
		if used += cells(string(r)); used > n-1 {
			return s[:at] + "…"
		}
	}
	return s
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-cells(s))) }

// ranges writes ascending indices shortly: "0-3,5".
func ranges(indices []int) string {
	var b strings.Builder
	for i := 0; i < len(indices); {
		end := i
		for end+1 < len(indices) && indices[end+1] == indices[end]+1 {
			end++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(indices[i]))
		switch end - i {
		case 0:
		case 1:
			b.WriteString("," + strconv.Itoa(indices[end]))
		default:
			b.WriteString("-" + strconv.Itoa(indices[end]))
		}
		i = end + 1
	}
	return b.String()
}

// marked lists the indices of the set marks.
func marked(marks []bool) (indices []int) {
	for i, m := range marks {
		if m {
			indices = append(indices, i)
		}
	}
	return indices
}

// software names the driver and MXMACA with their versions.
func software(n gpu.Node) string {
	name := func(what, version string) string {
		if version == "" {
			return what + " version unknown"
		}
		return what + " " + clean(version)
	}
	driver, maca := "", ""
	if n.Driver != nil {
		driver = n.Driver.Version
	}
	if n.MACA != nil {
		maca = n.MACA.Version
	}
	return name("driver", driver) + ", " + name("MXMACA", maca)
}

// title is the name of the node.
func title(n gpu.Node) string {
	if n.Name == "" {
		return "unnamed node"
	}
	return clean(n.Name)
}

// count says how many GPUs of which model there are.
func count(gpus []gpu.GPU) string {
	if len(gpus) == 0 {
		return "no GPU"
	}
	model := gpus[0].Model
	for _, g := range gpus {
		if g.Model != model {
			model = ""
		}
	}
	switch {
	case model != "":
		return fmt.Sprintf("%d × %s", len(gpus), clean(model))
	case len(gpus) == 1:
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", len(gpus))
}

func memory(mib int) string {
	switch {
	case mib <= 0:
		return ""
	case mib%1024 == 0:
		return fmt.Sprintf("%d GiB", mib/1024)
	}
	return fmt.Sprintf("%d MiB", mib)
}

func address(b gpu.BDF) string {
	if b == (gpu.BDF{}) {
		return ""
	}
	return b.String()
}

// deviceNodes names a GPU's device nodes without their directories.
func deviceNodes(g gpu.GPU) string {
	var names []string
	for _, n := range g.Nodes {
		names = append(names, clean(n[strings.LastIndexByte(n, '/')+1:]))
	}
	return strings.Join(names, " ")
}

// short is as much of a UUID as tells the GPUs of a node apart at a glance.
func short(u gpu.UUID) string {
	const shown = len("GPU-3fd4ee8f")
	if len(u) <= shown {
		return clean(string(u))
	}
	return clean(string(u[:shown])) + "…"
}

// describe says how the GPUs of a domain are joined.
func (d domain) describe() string {
	s := "full mesh"
	if d.links < d.pairs() {
		s = fmt.Sprintf("%d of %d links", d.links, d.pairs())
	} else if d.links == 1 {
		s = "1 link"
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case d.maxGBps <= 0:
		return s
	case d.minGBps <= 0:
		return s + ", up to " + number(d.maxGBps) + " GB/s"
	case d.minGBps < d.maxGBps:
		return s + ", " + number(d.minGBps) + " to " + number(d.maxGBps) + " GB/s"
	}
	return s + ", " + number(d.maxGBps) + " GB/s each"
}
