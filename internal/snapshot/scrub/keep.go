package scrub

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// mark is the byte order mark, which some engines refuse.
const mark = "\ufeff"

// ourKind begins the kinds of the toolkit's CDI specs, and ourSpecs is the name of what
// is kept of them.
const (
	ourKind  = "metax-tech.com/"
	ourSpecs = "a CDI spec of a kind that begins with metax-tech.com/"
)

// ourComments are those by which the toolkit knows its files; others go.
var ourComments = regexp.MustCompile(`(?m)^# (Written by metax-ctk runtime configure|The settings of others are those of containerd config dump\.$)`)

// Keep returns what is kept of a file or answer, with stand-ins, keys sorted. One that
// does not parse keeps its punctuation, so that it fails at the same place. Of a name
// that is not on the list the text is a plain one.
func (s *Scrubber) Keep(name, text string) string {
	l := listOf(name)
	if l.keys == nil {
		return s.Text(text)
	}
	body, bom := strings.CutPrefix(text, mark)
	kept, err := s.keep(l, strings.HasSuffix(name, "ml") && l.format == "json", body)
	if err != nil {
		kept = mask(body)
	}
	if bom {
		kept = mark + kept
	}
	return kept
}

func (s *Scrubber) keep(l list, isYAML bool, text string) (string, error) {
	if l.format == "toml" {
		doc, err := toml.Parse([]byte(text))
		if err != nil {
			return "", err
		}
		var head string
		for _, comment := range ourComments.FindAllString(text, -1) {
			head += comment + "\n"
		}
		tree, _ := keeper{s: s}.value(l.keys, doc.Tree()).(map[string]any)
		return head + string(toml.Render(tree)), nil
	}
	if isYAML {
		data, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			return "", err
		}
		text = string(data)
	}
	tree, err := jsontree.Parse([]byte(text)) // which finds a key that occurs twice
	if err != nil {
		return "", err
	}
	var v any
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&v); err != nil {
		return "", err
	}
	own := strings.HasPrefix(tree.Root().At("kind").Text(), ourKind)
	if own {
		l = listOf(ourSpecs)
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	err = out.Encode(keeper{s, own}.value(l.keys, v))
	return b.String(), err
}

// keeper keeps values with stand-ins.
type keeper struct {
	s   *Scrubber
	own bool // whether they are of a CDI spec of the toolkit's
}

// value is what is kept of a value.
func (k keeper) value(of *keys, v any) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below, literal := of.at(name)
			if below == nil || name == "hostPath" && k.unstated(v) {
				continue
			}
			value := k.value(below, v[name])
			switch {
			case literal:
			case word.MatchString(name):
				name = k.s.Text(name)
			default:
				name = k.s.Word("key", name)
			}
			kept[name] = value
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, e := range v {
			kept[i] = k.value(of, e)
		}
		return kept
	case string:
		return k.text(of, v)
	}
	return v
}

// unstated reports whether the path of a device on its host is another than in a
// container for the root alone: on the host itself nobody states it.
func (k keeper) unstated(device map[string]any) bool {
	at, _ := device["hostPath"].(string)
	to := k.s.unrooted(at)
	return k.own && to != at && to == device["path"]
}

// text is what is kept of a text.
func (k keeper) text(of *keys, text string) string {
	switch {
	case text == "":
		return ""
	case !of.kept || of.class == "nothing":
		return scrubbed
	case of.class == "env":
		return k.variable(of.words, text)
	case of.class == "text":
		return k.s.Text(text)
	case of.class != "" && of.class != string(Version):
		return k.s.Word(Class(of.class), text)
	case !slices.Contains(of.words, text) && (len(of.words) > 0 || !word.MatchString(text)):
		return scrubbed
	case of.class != "":
		k.s.Learn(Version, text)
	}
	return k.s.Text(text)
}

// word is a name or a path: no blanks, no address, no credentials.
var word = regexp.MustCompile(`^([\w.:*+${}-]*|[\w.*+-]*/[\w./*+:,=-]*)$`)

// variable is what is kept of an environment variable of a container: its name, if the
// list has any, and the value, if the list has the name.
func (k keeper) variable(names []string, text string) string {
	name, value, _ := strings.Cut(text, "=")
	switch {
	case len(names) == 0:
		name, value = scrubbed, scrubbed
	case !slices.Contains(names, name) || !word.MatchString(value):
		value = scrubbed
	}
	return k.s.Text(name) + "=" + k.s.Text(value)
}
