// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/svg"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Measures of every picture, in pixels.
const (
	margin   = 24
	minWidth = 680
)

// SVG writes the node as a self-contained picture: GPUs as cards below their PCIe switches and
// NUMA nodes, MetaXLink as lines between them. Up to 8 GPUs are in one row, and up to 16 in
// two rows that face each other, unless that splits a host bridge; every link is drawn, but a
// bus joins a domain of 8 or more GPUs. Other nodes are a grid, in which a bus joins each
// MetaXLink domain.
func SVG(w io.Writer, v View) error {
	s, err := v.checkView()
	if err != nil {
		return err
	}
	root := buildPlaceTree(s.gpus, nil, s.bridgeName)
	var body canvas
	var width, bottom int
	if rows, ok := splitRows(root); ok {
		width, bottom = s.drawFacing(&body, root, rows)
	} else {
		width, bottom = s.drawGrid(&body, root)
	}
	bottom = s.legend(&body, width, bottom)
	bottom = s.writeNote(&body, width, bottom)

	var c canvas
	height := bottom + margin
	name := nodeTitle(v.Node)
	c.Begin("topology", width, height, "GPU topology of "+name, s.description())
	c.Dark(darkColors())
	fmt.Fprintf(&c,
		`<defs><pattern id="topology-hatch" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="8" height="8" fill="%s"/><path d="M0 0V8" stroke="%s" stroke-width="5"/></pattern></defs>`+"\n", inUseFill, hatchLine)
	c.Rect(1, 1, width-2, height-2, 16, fmt.Sprintf(`fill="%s" stroke="%s"`, svg.Background, svg.Border))
	c.Text(margin, 42, `font-size="22" font-weight="700"`, shortenTo(name, (width-2*margin)/14))
	subtitle := gpuCount(s.gpus) + ", " + softwareVersions(v.Node)
	c.Text(margin, 64, fmt.Sprintf(`font-size="13" fill="%s"`, svg.MutedText), shortenTo(subtitle, (width-2*margin)/8))
	if missing := s.unknownProperties(); missing != "" {
		c.Text(margin, 82, fmt.Sprintf(`font-size="13" fill="%s"`, svg.MutedText), missing)
	}
	c.Write(body.Bytes())
	c.End()
	return writePicture(w, "SVG", c.Bytes())
}

// description describes the picture for people who cannot see it.
func (s *checkedView) description() string {
	var words []string
	say := func(format string, a ...any) { words = append(words, fmt.Sprintf(format, a...)+".") }
	say("%s", gpuCount(s.gpus))
	for i := range s.domains {
		say("%s", s.domainWords(i))
	}
	if len(s.domains) == 0 {
		say("No MetaXLink")
	}
	if between := s.betweenDomains(); len(between) > 0 {
		say("%s", betweenWords(between))
	}
	for _, m := range s.marks {
		say("GPU %s: %s", wording.Ranges(m.markedGPUs()), m.word)
	}
	if len(s.down) > 0 {
		say("MetaXLink down: %s", wording.Pairs(s.down))
	}
	return strings.Join(words, " ")
}

// domainWords describes a domain, by its place in the list.
func (s *checkedView) domainWords(i int) string {
	return fmt.Sprintf("MetaXLink domain %d: GPUs %s (%s)", i+1, wording.Ranges(s.domains[i].gpus),
		s.domains[i].describeLinks())
}

// headerHeight returns the height of the title's lines, down to the first box.
func (s *checkedView) headerHeight() int {
	if s.unknownProperties() != "" {
		return 102
	}
	return 84
}

// maxListed is the greatest number of domains that the legend names one by one.
const maxListed = 4

// legend draws the explanation of what the picture has, in rows from y on, and returns the
// y where it ends.
func (s *checkedView) legend(c *canvas, width, y int) int {
	end := y // stays if the legend is empty
	nics := s.nicLines()
	y += 16
	x := margin
	item := func(text string, sign func(x, y int)) {
		text = shortenTo(text, (width-2*margin-40)/8)
		need := 32 + textWidth(text, 12)
		if x > margin && x+need > width-margin {
			x, y = margin, y+26
		}
		end = y + 20
		sign(x+12, y+10)
		c.Text(x+32, y+14, "", text)
		x += need + 20
	}
	if len(s.domains) <= maxListed {
		for i := range s.domains {
			item(s.domainWords(i), func(x, y int) {
				c.Line(x-12, y, x+12, y, fmt.Sprintf(`stroke="%s" stroke-width="4" stroke-linecap="round"`, domainColor(i+1)))
			})
		}
	} else {
		item(s.manyDomains(), func(x, y int) {
			for i := range 3 {
				c.Line(x-12+i*8, y, x-4+i*8, y, fmt.Sprintf(`stroke="%s" stroke-width="4"`, domainColor(i+1)))
			}
		})
	}
	for _, line := range s.lost.Lines() {
		item(line, func(x, y int) {
			c.Line(x-14, y, x+14, y, fmt.Sprintf(`stroke="%s" stroke-width="2" stroke-dasharray="5 4"`, unhealthyEdge))
			c.drawSign(x, y, 100, signDown)
		})
	}
	between := s.betweenDomains()
	if len(between) > 0 && !s.badged {
		item(betweenWords(between), func(x, y int) {
			c.Line(x-14, y, x+14, y, kindLine(between[len(between)-1]))
		})
	}
	for _, k := range topology.Kinds() {
		if s.named[k] && (s.badged || !slices.Equal(between, []topology.Kind{k})) {
			item(k.String()+": "+k.Meaning(), func(x, y int) { c.Line(x-14, y, x+14, y, kindLine(k)) })
		}
	}
	if len(s.domains) == 0 && len(s.gpus) > 1 {
		item(s.noDomain(), func(x, y int) { c.drawSign(x, y, 100, signNone) })
	}
	for _, m := range s.marks {
		gpus := m.markedGPUs()
		if m.word == inUse { // those whose user is known follow with the user
			gpus = slices.DeleteFunc(gpus, func(i int) bool { return s.holderName(i) != "" })
		}
		if len(gpus) == 0 {
			continue
		}
		item(m.word+": GPU "+wording.Ranges(gpus), func(x, y int) { c.drawSign(x, y, 100, m.sign) })
	}
	for _, u := range s.usersOf() {
		item(inUse+" by "+u, func(x, y int) { c.drawSign(x, y, 100, signInUse) })
	}
	for _, line := range nics {
		item(line, func(x, y int) { c.drawSign(x, y, 100, signNIC) })
	}
	return end
}

// betweenDomains returns the kinds of link between GPUs of different domains, best first.
func (s *checkedView) betweenDomains() (kinds []topology.Kind) {
	var seen [numKinds]bool
	for a := range s.gpus {
		for b := range a {
			if s.domainOf[a] != s.domainOf[b] && s.domainOf[a] > 0 && s.domainOf[b] > 0 {
				seen[s.graph.Kind(a, b)] = true
			}
		}
	}
	for _, k := range topology.Kinds() {
		if seen[k] {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// betweenWords names the kinds of link between domains, and explains the last.
func betweenWords(kinds []topology.Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ") + " between the domains: " + kinds[len(kinds)-1].Meaning()
}

// maxUsers is the greatest number of users of GPUs that the legend names.
const maxUsers = 8

// usersOf says who uses which GPUs, in the order of the first GPU.
func (s *checkedView) usersOf() (lines []string) {
	var users []string
	by := map[string][]int{}
	for i := range s.gpus {
		if u := s.holderName(i); u != "" {
			if by[u] == nil {
				users = append(users, u)
			}
			by[u] = append(by[u], i)
		}
	}
	for _, u := range users[:min(len(users), maxUsers)] {
		lines = append(lines, fmt.Sprintf("%s: GPU %s", u, wording.Ranges(by[u])))
	}
	if more := len(users) - maxUsers; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more (metax-ctk ps)", more))
	}
	return lines
}

// manyDomains describes all domains in one line.
func (s *checkedView) manyDomains() string {
	size := len(s.domains[0].gpus)
	whole := true
	for _, d := range s.domains {
		if len(d.gpus) != size {
			size = 0
		}
		whole = whole && len(d.apart) == 0
	}
	text := fmt.Sprintf("%d MetaXLink domains", len(s.domains))
	if size > 0 {
		text += fmt.Sprintf(" of %d GPUs", size)
	}
	if whole {
		text += ", each a full mesh"
	}
	return text + "; equal numbers are one domain"
}
