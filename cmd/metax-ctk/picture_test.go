// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/metax-ctk/container-toolkit/internal/svg"
	"github.com/metax-ctk/container-toolkit/internal/topology/picture"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// The size of a character in the picture of a terminal, in pixels.
const charWidth, lineHeight, margin = 8, 17, 16

var (
	// escapes are the sequences that set a color, and end it.
	escapes = regexp.MustCompile("\x1b\\[([0-9]+)m")
	// inks are the colors in the picture.
	inks = map[string]string{"0": svg.Text, "31": svg.Rose, "32": svg.Teal, "33": svg.Amber, "35": svg.Violet, "36": svg.Blue}
)

// readmeHeight is how high a picture in README.md may be, in pixels.
const readmeHeight = 420

// topologyPicture is what topology print draws of c500-8 when a container uses GPUs 0 and 1,
// and a pick of 4 gives the others' domain. It is made smaller, for README.md.
func topologyPicture(t *testing.T) string {
	t.Helper()
	node := simtest.Node(t, "c500-8")
	const train = "container train (docker), lease 3f8a52c0d1e7, of alice"
	view := picture.View{Node: node, InUse: []int{0, 1}, Picked: []int{4, 5, 6, 7}, Users: []string{train, train}}
	var text strings.Builder
	if err := picture.SVG(&text, view); err != nil {
		t.Fatal(err)
	}
	size := regexp.MustCompile(`width="(\d+)" height="(\d+)"`)
	found := size.FindStringSubmatch(text.String())
	width, _ := strconv.Atoi(found[1])
	height, _ := strconv.Atoi(found[2])
	smaller := fmt.Sprintf(`width="%d" height="%d"`, width*readmeHeight/height, readmeHeight)
	return strings.Replace(text.String(), found[0], smaller, 1)
}

// TestReadmePictures: the pictures of how things are fit a screen.
func TestReadmePictures(t *testing.T) {
	for _, name := range []string{"topology.svg", "parts.svg"} {
		text := testfile.Read(t, "../../docs/"+name)
		var root struct {
			Width  int    `xml:"width,attr"`
			Height int    `xml:"height,attr"`
			Title  string `xml:"title"`
			Desc   string `xml:"desc"`
		}
		if err := xml.Unmarshal(text, &root); err != nil || root.Height == 0 || root.Height > readmeHeight || root.Width > 1000 || root.Title == "" || root.Desc == "" {
			t.Errorf("%s: %+v, %v", name, root, err)
		}
	}
}

// terminalPicture shows command lines and what they print on a terminal.
func terminalPicture(t *testing.T, commands ...string) string {
	t.Helper()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	var lines []string
	for _, command := range commands {
		out, stderr := onTerminal(t, 120, strings.Fields(command)[1:]...)
		lines = append(lines, "$ "+command)
		lines = append(lines, strings.Split(stderr+out, "\n")...)
	}
	lines, width := lines[:len(lines)-1], 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(escapes.ReplaceAllString(line, "")))
	}
	var c svg.Canvas
	c.Begin("terminal", width*charWidth+2*margin, len(lines)*lineHeight+2*margin, "A terminal with "+strings.Join(commands, " and "), "")
	c.Dark(svg.Common())
	c.Rect(0, 0, width*charWidth+2*margin, len(lines)*lineHeight+2*margin, 8, fmt.Sprintf(`fill="%s"`, svg.Background))
	c.Open(fmt.Sprintf(`font-family="%s" font-size="13" xml:space="preserve"`, svg.Mono))
	for row, line := range lines {
		drawLine(&c, margin+(row+1)*lineHeight-5, line)
	}
	c.Close()
	c.End()
	return c.String()
}

// drawLine writes a line with its colors. The width of each piece is given, so that columns
// stay below each other in any font.
func drawLine(c *svg.Canvas, y int, line string) {
	column, ink := 0, inks["0"]
	for line != "" {
		piece, rest, color := line, "", ""
		if at := escapes.FindStringSubmatchIndex(line); at != nil {
			piece, rest, color = line[:at[0]], line[at[1]:], inks[line[at[2]:at[3]]]
		}
		if wide := utf8.RuneCountInString(piece); wide > 0 {
			attrs := fmt.Sprintf(`fill="%s" textLength="%d" lengthAdjust="spacingAndGlyphs"`, ink, wide*charWidth)
			c.Text(margin+column*charWidth, y, attrs, piece)
			column += wide
		}
		line, ink = rest, color
	}
}
