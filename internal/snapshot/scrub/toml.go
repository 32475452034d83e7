package scrub

import (
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// ourComment begins comments that stay: by them the toolkit knows its files.
const ourComment = "# Written by metax-ctk"

// tomlWalker scrubs the keys, texts and comments of a TOML text.
type tomlWalker struct {
	walker
	text string
	at   int // up to here, out has the text
	out  strings.Builder
}

func (t *tomlWalker) document(statements []toml.Statement) string {
	var table []string
	for _, s := range statements {
		if s.Header == toml.Setting {
			t.setting(table, s)
		} else {
			table = t.keys(nil, s.Keys)
		}
	}
	t.copyTo(len(t.text))
	return t.out.String()
}

func (t *tomlWalker) setting(table []string, s toml.Statement) {
	t.content(t.keys(table, s.Keys), s.Value)
}

// keys scrubs the parts of a dotted key, and returns the path of what stands below.
func (t *tomlWalker) keys(path []string, keys []toml.KeyPart) []string {
	below := append([]string{}, path...)
	for _, k := range keys {
		t.copyTo(k.Start)
		t.put(k.End, k.Name, t.key(below, k.Name))
		below = append(below, k.Name)
	}
	return below
}

// content scrubs the texts of a value.
func (t *tomlWalker) content(path []string, v toml.Value) {
	switch v.Kind {
	case toml.Text:
		t.copyTo(v.Start)
		t.put(v.End, v.Text, t.value(path, v.Text))
	case toml.Array:
		for _, e := range v.Elements {
			t.content(path, e)
		}
	case toml.Inline:
		for _, s := range v.Settings {
			t.setting(path, s)
		}
	}
}

// put writes what becomes of the key or text up to an offset. A string of JSON is one
// of TOML too.
func (t *tomlWalker) put(end int, was, is string) {
	if was == is {
		t.out.WriteString(t.text[t.at:end])
	} else {
		t.out.Write(jsontree.AppendString(nil, is))
	}
	t.at = end
}

// copyTo copies what stands before the next key or text. A comment loses its words:
// people put old settings there.
func (t *tomlWalker) copyTo(end int) {
	between := t.text[t.at:end]
	for between != "" {
		before, comment, found := strings.Cut(between, "#")
		t.out.WriteString(before)
		if !found {
			break
		}
		said, _, _ := strings.Cut("#"+comment, "\n")
		said = strings.TrimRight(said, "\r")
		between = comment[len(said)-1:]
		if strings.HasPrefix(said, ourComment) {
			t.out.WriteString(t.s.Text(said))
		} else {
			t.out.WriteString("#")
		}
	}
	t.at = end
}
