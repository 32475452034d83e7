// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// element is an SVG element with what is inside.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e element) int(t testing.TB, name string) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(e.attr(name)+"!", "%d!", &n); err != nil {
		t.Fatalf("%s of <%s> is %q, want a whole number", name, e.XMLName.Local, e.attr(name))
	}
	return n
}

// title is the text of the element's own <title>.
func (e element) title() string {
	for _, c := range e.Children {
		if c.XMLName.Local == "title" {
			return c.Text
		}
	}
	return ""
}

func (e element) walk(visit func(element)) {
	visit(e)
	for _, c := range e.Children {
		c.walk(visit)
	}
}

// picture draws a View and reads it back, which shows that it is well-formed.
func picture(t testing.TB, v View) element {
	t.Helper()
	text := render(t, SVG, v)
	dec := xml.NewDecoder(strings.NewReader(text))
	var root element
	if err := dec.Decode(&root); err != nil {
		t.Fatalf("not well-formed: %v\n%s", err, text)
	}
	if err := dec.Decode(&element{}); !errors.Is(err, io.EOF) {
		t.Fatalf("something follows the picture: %v", err)
	}
	return root
}

// titled lists the elements whose title begins with a word.
func titled(root element, prefix string) (all []element) {
	root.walk(func(e element) {
		if e.XMLName.Local == "g" && strings.HasPrefix(e.title(), prefix) {
			all = append(all, e)
		}
	})
	return all
}

// sized returns Nodes of all the sizes and shapes at which the picture changes.
func sized(t testing.TB) map[string]View {
	all := views(t)
	for _, stripes := range []int{8, 16} { // domains with GPUs on every line: with and without room for trunks
		node := superpod(t, 1)
		for i := range stripes {
			var gpus []int
			for g := i; g < len(node.GPUs); g += stripes {
				gpus = append(gpus, g)
			}
			mesh(&node, 0, gpus...)
		}
		all[fmt.Sprintf("%d stripes", stripes)] = View{Node: node}
	}
	full := gpu.NewNode("mesh-16")
	for i := range 16 {
		full.GPUs = append(full.GPUs, gpu.GPU{Index: i, Healthy: true})
	}
	mesh(&full, 32, sequence(0, 16)...)
	all["mesh of 16"] = View{Node: full}
	all["mesh of 16, some picked"] = View{Node: full, Picked: sequence(2, 6)}
	for _, n := range []int{0, 1, 2, 3, 5, 9, 15, 16, 17, 33, 100, 128, 129, 300} {
		for _, perNUMA := range []int{3, 8, n + 1} {
			node := gpu.NewNode("")
			for i := range n {
				up := gpu.BDF{Bus: uint8(i / 4)}
				node.GPUs = append(node.GPUs, gpu.GPU{Index: i, NUMA: i / perNUMA, PCIeSwitch: &up, Healthy: i%5 > 0})
			}
			for i := 5; i < n; i++ {
				node.Links = append(node.Links, gpu.Link{A: i - 5, B: i, Kind: "MX", Down: i%7 == 0})
			}
			all[fmt.Sprintf("%d GPUs, %d on a NUMA node", n, perNUMA)] = View{Node: node, Picked: sequence(0, n/2), InUse: sequence(n/3, n)}
		}
	}
	return all
}

// No two cards overlap, and everything is inside the picture.
func TestSVGGeometry(t *testing.T) {
	for name, view := range sized(t) {
		t.Run(name, func(t *testing.T) {
			root := picture(t, view)
			width, height := root.int(t, "width"), root.int(t, "height")
			root.walk(func(e element) {
				if e.XMLName.Local != "rect" || e.attr("x") == "" {
					return
				}
				if x, y := e.int(t, "x"), e.int(t, "y"); x+e.int(t, "width") > width || y+e.int(t, "height") > height {
					t.Errorf("a box at %d,%d leaves the picture of %d x %d", x, y, width, height)
				}
			})
			seen := map[[2]int]int{} // the card on each square of four pixels
			drawn := make([]int, len(view.Node.GPUs))
			for _, e := range titled(root, "GPU ") {
				var i int
				var next rune
				if n, _ := fmt.Sscanf(e.title()+",", "GPU %d%c", &i, &next); n != 2 || next != ',' {
					continue // a link
				}
				drawn[i]++
				box := e.Children[1]
				x0, y0 := box.int(t, "x"), box.int(t, "y")
				for x := x0 / 4; x < (x0+box.int(t, "width"))/4; x++ {
					for y := y0 / 4; y < (y0+box.int(t, "height"))/4; y++ {
						if other, taken := seen[[2]int{x, y}]; taken {
							t.Fatalf("GPU %d lies on GPU %d", i, other)
						}
						seen[[2]int{x, y}] = i
					}
				}
			}
			for i, times := range drawn {
				if times != 1 {
					t.Errorf("GPU %d is drawn %d times", i, times)
				}
			}
		})
	}
}

// A picture refers to nothing outside, runs no code, and has a title.
func TestSVGIsSelfContained(t *testing.T) {
	number := regexp.MustCompile(`^-?\d+$`)
	path := regexp.MustCompile(`^[MLCVlmvhaz\d -]+$`)
	for name, view := range views(t) {
		root := picture(t, view)
		ids := map[string]bool{}
		root.walk(func(e element) {
			switch e.XMLName.Local {
			case "svg", "g", "title", "desc", "style", "defs", "pattern", "rect", "circle", "path", "text":
			default:
				t.Errorf("%s: element <%s>", name, e.XMLName.Local)
			}
			for _, a := range e.Attrs {
				switch a.Name.Local {
				case "x", "y", "width", "height", "rx", "cx", "cy", "r":
					if !number.MatchString(a.Value) {
						t.Errorf("%s: %s=%q", name, a.Name.Local, a.Value)
					}
				case "d":
					if !path.MatchString(a.Value) {
						t.Errorf("%s: path %q", name, a.Value)
					}
				case "id":
					ids[a.Value] = true
				case "href", "style", "class", "src":
					t.Errorf("%s: attribute %s", name, a.Name.Local)
				}
				if strings.Contains(a.Value, "url(") && a.Value != "url(#topology-hatch)" || strings.Contains(a.Value, "://") && a.Name.Local != "xmlns" {
					t.Errorf("%s: %s=%q reaches outside", name, a.Name.Local, a.Value)
				}
			}
		})
		for _, id := range append(strings.Fields(root.attr("aria-labelledby")), "topology-hatch") {
			if !ids[id] {
				t.Errorf("%s: no element has id %q", name, id)
			}
		}
		if root.Children[0].XMLName.Local != "title" || root.Children[1].XMLName.Local != "desc" {
			t.Errorf("%s does not begin with its title and description", name)
		}
	}
}

func TestSVGLinks(t *testing.T) {
	type links struct{ up, down int }
	for name, want := range map[string]links{
		"c500-8": {12, 0}, "c500-8-pcie": {0, 0}, "c550-8": {0, 0}, "c500-4-degraded": {3, 3}, "bare": {1, 0},
		"superpod-64": {0, 0}, // buses, as in c550-8
	} {
		var got links
		root := picture(t, views(t)[name])
		for _, e := range titled(root, "GPU ") {
			title, dashed := e.title(), e.attr("stroke-dasharray") != ""
			switch {
			case !strings.Contains(title, ": MetaXLink"):
			case strings.HasSuffix(title, ", down"):
				got.down++
				if !dashed {
					t.Errorf("%s: %q is not dashed", name, title)
				}
			default:
				got.up++
				if dashed {
					t.Errorf("%s: %q is dashed", name, title)
				}
			}
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	buses := titled(picture(t, View{Node: superpod(t, 16)}), "MetaXLink domain ")
	if len(buses) != 8 { // each of four domains on two lines
		t.Errorf("%d buses, want 8", len(buses))
	}
}

// A mark is shown by a word in the card and by its sign, not by color alone.
func TestSVGMarks(t *testing.T) {
	root := picture(t, views(t)["c500-4-degraded"])
	for i, test := range []struct {
		end   string // of the card's title
		word  string // shown beside its index
		signs int
	}{
		{"441f1b, picked", "picked", 1},
		{"441f1b, in use", "in use", 1},
		{"441f1b", "MXC500 · 64 GiB", 0},
		{"0000:12:00.0, picked, in use, unhealthy", "unhealthy", 3},
	} {
		card := titled(root, fmt.Sprintf("GPU %d, ", i))[0]
		if !strings.HasSuffix(card.title(), test.end) {
			t.Errorf("GPU %d is called %q, want it to end with %q", i, card.title(), test.end)
		}
		var words []string
		signs := 0
		card.walk(func(e element) {
			if e.XMLName.Local == "text" {
				words = append(words, e.Text)
			}
			if e.attr("transform") != "" {
				signs++
			}
		})
		if words[1] != test.word || signs != test.signs {
			t.Errorf("GPU %d says %q and bears %d signs; want %q second, %d signs", i, words, signs, test.word, test.signs)
		}
	}
}

// No word from outside can end its element or speak to a terminal.
func TestHostileWords(t *testing.T) {
	const evil = `</text><script>alert("1")</script>&amp;<!--]]>'"` + "\x1b[2J\x00\n\u202e\xff"
	n := quads(t)
	n.Name, n.Driver.Version, n.MACA.Version = evil, evil, evil
	for i := range n.GPUs {
		g := &n.GPUs[i]
		g.Model, g.Serial, g.UUID, g.PCIeRoot = evil, evil, gpu.UUID(evil), evil
		g.Nodes = []string{evil, "/dev/" + evil}
	}
	many := superpod(t, 8)
	many.Name = evil
	for i := range many.GPUs {
		many.GPUs[i].Model, many.GPUs[i].UUID, many.GPUs[i].BDF, many.GPUs[i].Serial = evil, gpu.UUID(evil), gpu.BDF{}, evil
	}
	for _, node := range []gpu.Node{n, many} {
		root := picture(t, View{Node: node})
		root.walk(func(e element) {
			if e.XMLName.Local == "script" {
				t.Error("a script came in")
			}
		})
		if want := "GPU topology of " + terminal.Line(evil); root.title() != want {
			t.Errorf("title is %q, want %q", root.title(), want)
		}
		for ending, draw := range renderers {
			text := render(t, draw, View{Node: node})
			if terminal.Line(text) != strings.ReplaceAll(text, "\n", "�") {
				t.Errorf("the %s has characters that do not print", ending)
			}
		}
	}
}
