package trace

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

var update = flag.Bool("update", false, "write the golden files")

// compared is what the golden files are made of.
func compared(t testing.TB) []Result {
	t.Helper()
	picker, gpus := simulated(t, "c500-8")
	jobs := generated(t, Spec{Jobs: 300, GPUs: 8, Load: 0.7, Mix: fewLarge, MeanDuration: Hour, Seed: 1})
	policies := []key.Policy{key.Spread, key.Binpack, key.First, key.MTF}
	results, err := Compare(picker, policies, gpus, jobs, Options{Timeline: true})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestGolden(t *testing.T) {
	results := compared(t)
	for file, write := range map[string]func(io.Writer) error{
		"policies.svg": func(w io.Writer) error {
			return SVG(w, Picture{Title: "c500-8: 300 jobs, 4 policies", Note: "8 GPUs, offered load 0.70", Results: results})
		},
		"figures.csv":  func(w io.Writer) error { return FiguresCSV(w, results) },
		"timeline.csv": func(w io.Writer) error { return TimelineCSV(w, results[:1]) },
	} {
		var got strings.Builder
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s\nIf that is meant: go test ./internal/trace -update", path, diff)
		}
	}
}

func TestWritersReportErrors(t *testing.T) {
	results := compared(t)
	for name, write := range map[string]func(io.Writer) error{
		"SVG":      func(w io.Writer) error { return SVG(w, Picture{Results: results}) },
		"figures":  func(w io.Writer) error { return FiguresCSV(w, results) },
		"timeline": func(w io.Writer) error { return TimelineCSV(w, results) },
		"trace":    func(w io.Writer) error { return WriteCSV(w, five) },
	} {
		full := errors.New("no space left")
		if err := write(failing{full}); !errors.Is(err, full) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e element) walk(visit func(element)) {
	visit(e)
	for _, c := range e.Children {
		c.walk(visit)
	}
}

// picture draws and reads back, which shows that it is well-formed.
func picture(t testing.TB, p Picture) element {
	t.Helper()
	var b strings.Builder
	if err := SVG(&b, p); err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(strings.NewReader(b.String()))
	var root element
	if err := dec.Decode(&root); err != nil {
		t.Fatalf("not well-formed: %v\n%s", err, b.String())
	}
	if err := dec.Decode(&element{}); !errors.Is(err, io.EOF) {
		t.Fatalf("something follows the picture: %v", err)
	}
	return root
}

// Every line stays in its plot, and no two look alike.
func TestSVGLines(t *testing.T) {
	results := compared(t)
	root := picture(t, Picture{Title: "x", Results: results})
	looks := map[string]string{}
	seen := map[string]int{}
	point := regexp.MustCompile(`[ML](\d+) (\d+)`)
	root.walk(func(g element) {
		if g.XMLName.Local != "g" {
			return
		}
		policy, line := g.Children[0].Text, g.Children[1]
		top := header + plotHeading + seen[policy]*(plotHeading+plotHeight+plotFoot)
		seen[policy]++
		attrs := map[string]string{}
		for _, a := range line.Attrs {
			attrs[a.Name.Local] = a.Value
		}
		for _, look := range []string{"dash " + attrs["stroke-dasharray"], "colour " + attrs["stroke"]} {
			if other, taken := looks[look]; taken && other != policy {
				t.Errorf("%s and %s have the same %s", policy, other, look)
			}
			looks[look] = policy
		}
		points := point.FindAllStringSubmatch(attrs["d"], -1)
		if len(points) < maxDrawn/4 || len(points) > maxDrawn {
			t.Errorf("%s has %d points", policy, len(points))
		}
		for _, p := range points {
			var x, y int
			fmt.Sscan(p[1]+" "+p[2], &x, &y)
			if x < plotLeft || x > plotRight || y < top || y > top+plotHeight {
				t.Errorf("%s leaves its plot at %d,%d", policy, x, y)
			}
		}
	})
	if diff := cmp.Diff(map[string]int{"spread": 2, "binpack": 2, "first": 2, "mtf": 2}, seen); diff != "" {
		t.Errorf("lines by policy (-want +got):\n%s", diff)
	}
}

// A picture needs nothing from elsewhere, and no word from outside ends its
// element.
func TestSVGIsSelfContained(t *testing.T) {
	const evil = `</text><script>alert("1")</script>&amp;<!--]]>'"` + "\x1b[2J\x00\n\u202e\xff"
	results := compared(t)
	results[0].Policy = evil
	root := picture(t, Picture{Title: evil, Note: evil, Results: results})
	root.walk(func(e element) {
		switch e.XMLName.Local {
		case "svg", "g", "title", "desc", "rect", "path", "text":
		default:
			t.Errorf("element <%s>", e.XMLName.Local)
		}
		for _, a := range e.Attrs {
			if strings.Contains(a.Value, "url(") || strings.Contains(a.Value, "://") && a.Name.Local != "xmlns" {
				t.Errorf("%s=%q reaches outside", a.Name.Local, a.Value)
			}
		}
	})
	if len(root.Children) < 2 || root.Children[0].XMLName.Local != "title" || root.Children[1].XMLName.Local != "desc" {
		t.Error("it does not begin with its title and description")
	}
	picture(t, Picture{Title: strings.Repeat("long ", 100), Results: []Result{{Policy: "no timeline"}}})
}

// The scale of fragmentation is the least that has room.
func TestScale(t *testing.T) {
	for _, c := range []struct{ most, top float64 }{{0, 0.05}, {0.05, 0.05}, {0.06, 0.1}, {0.3, 0.4}, {0.41, 0.6}, {1, 1}} {
		results := []Result{{Makespan: 2, Timeline: &Timeline{Step: 1, Points: []Point{{Fragmentation: c.most}, {}}}}}
		p := fitted(plot{of: func(p Point) float64 { return p.Fragmentation }, y: 100}, results)
		if p.top != c.top {
			t.Errorf("for %v the scale ends at %v, want %v", c.most, p.top, c.top)
		}
		if top, middle, bottom := p.atValue(p.top), p.atValue(p.top/2), p.atValue(0); top != 100 || middle != 100+plotHeight/2 || bottom != 100+plotHeight {
			t.Errorf("a scale to %v is at %d, %d, %d", p.top, top, middle, bottom)
		}
	}
}

func TestTicks(t *testing.T) {
	for end, want := range map[Time]string{
		1: "1 ms", 2500: "500 ms", 20 * Second: "2 s", 45 * Second: "5 s", 9 * Minute: "1 min", Hour: "10 min", 8 * Hour: "1 h", Day: "6 h", 10 * Day: "1 d",
		300 * Day: "50 d", 9000 * Day: "1000 d",
	} {
		step := tick(end)
		if n := end / step; n > maxTicks || end > 10 && n < 3 {
			t.Errorf("%v: %d steps of %v", end, n, step)
		}
		if got := tickLabel(step, step); got != want {
			t.Errorf("%v: the first step is %q, want %q", end, got, want)
		}
	}
	for i, want := range []string{"0 h", "6 h", "12 h", "18 h", "24 h"} {
		if got := tickLabel(Time(i)*6*Hour, 6*Hour); got != want {
			t.Errorf("step %d of 6 h is %q, want %q", i, got, want)
		}
	}
}
