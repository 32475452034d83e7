// SPDX-License-Identifier: Apache-2.0

package svg

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"GPU 0: 64 GB/s", "GPU 0: 64 GB/s"},
		{"沐曦 “C500” → é", "沐曦 “C500” → é"},
		{`<a b="c" d='&'>`, "&lt;a b=&quot;c&quot; d=&apos;&amp;&apos;&gt;"},
		{"&lt;", "&amp;lt;"},
		{"a\x00b\x1b[1m\n\t\u202ec", "a�b�[1m���c"},
		{"\xff", "�"},
	} {
		if diff := cmp.Diff(c.want, Escape(c.in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.in, diff)
		}
	}
}

// evil is a text that would end the element around it.
const evil = "\"'></text></title></svg>&\x00\u202e"

// read returns the elements of a picture and the text in them; it fails if the picture is not
// XML.
func read(t *testing.T, c *Canvas) (elements []string, words string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(c.String()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, words
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, c)
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements = append(elements, token.Name.Local)
		case xml.CharData:
			words += string(token)
		}
	}
}

func TestCanvas(t *testing.T) {
	var c Canvas
	c.Begin("test", 30, 20, evil, evil)
	c.Open(`fill="` + Escape(evil) + `"`)
	c.Title(evil)
	c.Rect(1, 2, 3, 4, 5, `fill="none"`)
	c.Line(6, 7, 8, 9, "")
	c.Dot(10, 11, 12, "")
	c.Path("", "M%d %.1f", 13, 1.5)
	c.Text(14, 15, `font-size="9"`, evil)
	c.Close()
	c.End()
	elements, words := read(t, &c)
	if diff := cmp.Diff([]string{"svg", "title", "desc", "g", "title", "rect", "path", "circle", "path", "text"}, elements); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := strings.Count(words, `"'></text></title></svg>&��`); n != 4 {
		t.Errorf("%d words of 4 came through in %q", n, words)
	}
	for _, part := range []string{
		`viewBox="0 0 30 20" width="30" height="20"`, `aria-labelledby="test-title test-desc"`, `<title id="test-title">`, `<desc id="test-desc">`,
		`<rect x="1" y="2" width="3" height="4" rx="5" fill="none"/>`, `d="M6 7L8 9"`, `cx="10" cy="11" r="12"`, `d="M13 1.5"`,
		`<text x="14" y="15" font-size="9">`,
	} {
		if !strings.Contains(c.String(), part) {
			t.Errorf("no %s in\n%s", part, c.String())
		}
	}
}

// TestWithoutDescription expects no reference to a description.
func TestWithoutDescription(t *testing.T) {
	var c Canvas
	c.Begin("", 1, 1, "a & b", "")
	c.End()
	if elements, words := read(t, &c); len(elements) != 2 || strings.TrimSpace(words) != "a & b" || strings.Contains(c.String(), "id=") || strings.Contains(c.String(), "aria") {
		t.Errorf("%s", c.String())
	}
}
