// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// byteOrderMark is kept because some engines refuse a file with one.
const byteOrderMark = "\ufeff"

// toolkitKind begins the kinds of the toolkit's CDI specs, and toolkitSpecs is the name
// in keys.txt of what is kept of them.
const (
	toolkitKind  = "metax-tech.com/"
	toolkitSpecs = "a CDI spec of a kind that begins with metax-tech.com/"
)

// toolkitComments are the comments that mark files written by the toolkit. Other
// comments are removed.
var toolkitComments = lazyregexp.New(`(?m)^# (Written by metax-ctk runtime configure|The settings of others are those of containerd config dump\.$)`)

// Keep returns what is kept of a file or output, with stand-ins and sorted keys. A text
// that does not parse keeps its punctuation, so that it fails at the same position. A
// name that is not in keys.txt is a plain text.
func (s *Scrubber) Keep(name, text string) string {
	l := listOf(name)
	if l.keys == nil {
		return s.Parsed(text)
	}
	body, bom := strings.CutPrefix(text, byteOrderMark)
	kept, err := s.keep(l, strings.HasSuffix(name, "ml") && l.format == "json", body)
	if err != nil {
		kept = mask(body)
	}
	if bom {
		kept = byteOrderMark + kept
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
		for _, comment := range toolkitComments().FindAllString(text, -1) {
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
	tree, err := jsontree.Parse([]byte(text)) // rejects duplicate keys
	if err != nil {
		return "", err
	}
	var v any
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&v); err != nil {
		return "", err
	}
	own := strings.HasPrefix(tree.Root().At("kind").Text(), toolkitKind)
	if own {
		l = listOf(toolkitSpecs)
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	err = out.Encode(keeper{s, own}.value(l.keys, v))
	return b.String(), err
}

// keeper reduces values and inserts stand-ins.
type keeper struct {
	s   *Scrubber
	own bool // whether the values are those of a CDI spec of the toolkit
}

// value returns what is kept of a value.
func (k keeper) value(of *keys, v any) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below, literal := of.keptBelow(name)
			if below == nil || (name == "hostPath" && k.isDefaultHostPath(v)) {
				continue
			}
			value := k.value(below, v[name])
			switch {
			case literal: // the key is part of the format
			case nameOrPath().MatchString(name):
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

// isDefaultHostPath reports whether the host path of a device differs from its path in
// a container only by the host's root directory. On the host itself such a spec has no
// hostPath.
func (k keeper) isDefaultHostPath(device map[string]any) bool {
	at, _ := device["hostPath"].(string)
	to := k.s.withoutRoot(at)
	return k.own && to != at && to == device["path"]
}

// text returns what is kept of a text.
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
	case !slices.Contains(of.words, text) && (len(of.words) > 0 || !nameOrPath().MatchString(text)):
		return scrubbed
	case of.class != "":
		k.s.Learn(Version, text)
	}
	return k.s.Parsed(text)
}

// nameOrPath matches names and paths: without blanks, addresses and credentials.
var nameOrPath = lazyregexp.New(`^([\w.:*+${},-]*|[\w.*+-]*/[\w./*+:,=-]*)$`)

// variable returns what is kept of a container's environment variable: its name, if the
// list has any names, and its value, if the list has this name.
func (k keeper) variable(names []string, text string) string {
	name, value, _ := strings.Cut(text, "=")
	switch {
	case len(names) == 0:
		name, value = scrubbed, scrubbed
	case !slices.Contains(names, name) || !nameOrPath().MatchString(value):
		value = scrubbed
	}
	return k.s.Parsed(name) + "=" + k.s.Parsed(value)
}

// maskable are the words of a text, and characters after a backslash.
var maskable = lazyregexp.New(`\\.|[\w[:^ascii:]]+`)

// mask keeps the punctuation of a text, so that parsing it fails at the same position,
// and replaces each word by other letters of the same length, equal words by equal
// ones.
func mask(text string) string {
	known := map[string]string{}
	return maskable().ReplaceAllStringFunc(text, func(w string) string {
		switch {
		case w[0] == '\\' || w == "true" || w == "false" || w == "null":
			return w
		case strings.Trim(w, "0123456789") == "":
			return strings.Repeat("1", len(w))
		}
		if known[w] == "" {
			letters := []byte(strings.Repeat("a", len(w)))
			for n, at := len(known), len(w)-1; n > 0 && at >= 0; n, at = n/26, at-1 {
				letters[at] += byte(n % 26)
			}
			known[w] = string(letters)
		}
		return known[w]
	})
}
