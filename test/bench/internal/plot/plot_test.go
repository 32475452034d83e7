package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

func chart(lines ...[]float64) Chart {
	c := Chart{
		Title: "a < b", X: "number", Panels: []Panel{{Title: "panel", Lines: lines}},
		Tick: func(value float64) string { return fmt.Sprintf("at %g", value) },
	}
	for i := range lines {
		c.Styles = append(c.Styles, Style{Name: fmt.Sprintf("line %d", i), Color: fmt.Sprintf("#00000%d", i)})
	}
	return c
}

func TestSVGIsXML(t *testing.T) {
	d := xml.NewDecoder(bytes.NewReader(chart([]float64{1, 10}).SVG()))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSVGPlaces has values at the height of their logarithm, and a gap for one that has none.
func TestSVGPlaces(t *testing.T) {
	svg := string(chart([]float64{100, 1, 0, 10}, []float64{50}).SVG())
	for _, part := range []string{
		// The axis is 250 high from 62 on: 100 at its top, 1 at its foot, 10 in the middle.
		`<path d="M81 62.0L98 312.0M132 187.0" fill="none" stroke="#000000"`,
		`<circle cx="132" cy="187.0"`,
		`>at 1<`, `>at 10<`, `>at 100<`, `>a &lt; b<`, `>line 1<`, `>number<`,
	} {
		if !strings.Contains(svg, part) {
			t.Errorf("no %s in\n%s", part, svg)
		}
	}
	if n := strings.Count(svg, "<circle"); n != 4 {
		t.Errorf("%d dots for 4 values", n)
	}
}

// TestSVGWords has words in place of numbers, further apart.
func TestSVGWords(t *testing.T) {
	c := chart([]float64{1, 10})
	c.Panels[0].Words = []string{"few", "many"}
	svg := string(c.SVG())
	for _, part := range []string{`<path d="M154 312.0L244 62.0"`, `<text x="154.0" y="328.0" text-anchor="middle" fill="#52607a">few<`, `>many<`} {
		if !strings.Contains(svg, part) {
			t.Errorf("no %s in\n%s", part, svg)
		}
	}
	if strings.Contains(svg, ">1<") {
		t.Error("there are numbers")
	}
}

// TestSVGSpan has whole decades that hold all values.
func TestSVGSpan(t *testing.T) {
	ticks := regexp.MustCompile(`>at ([^<]*)<`)
	for _, tc := range []struct {
		values []float64
		want   string
	}{
		{[]float64{5, 50}, "1 10 100"},
		{[]float64{10}, "10 100"},
		{[]float64{0}, "1 10"},
		{nil, "1 10"},
	} {
		var got []string
		for _, m := range ticks.FindAllSubmatch(chart(tc.values).SVG(), -1) {
			got = append(got, string(m[1]))
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%v: decades %s, want %s", tc.values, s, tc.want)
		}
	}
}
