package scrub

import (
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
	"github.com/metax-ctk/container-toolkit/internal/toml"
)

// Format is how a file is scrubbed.
type Format uint8

// The formats.
const (
	// Plain texts lose what is known by its form, and what was learned.
	Plain Format = iota
	// JSON and TOML are configurations of others: of a text in them only is kept what
	// is below a key that is known to hold no secret.
	JSON
	TOML
	// OwnJSON and OwnTOML are the toolkit's own, and CDI specs of its kinds: what is
	// below a key stays unless it is known to name somebody.
	OwnJSON
	OwnTOML
	// YAML is JSON by another notation.
	YAML
)

const annotations = "annotations"

// ourKind begins the kinds of the toolkit's CDI specs.
const ourKind = "metax-tech.com/"

// Config returns a configuration with stand-ins, laid out as it was. One that does
// not parse keeps its punctuation, so that it fails at the same place, and of its
// words those that such files have in common.
func (s *Scrubber) Config(format Format, text string) string {
	body, bom := strings.CutPrefix(text, "\ufeff")
	mark := strings.TrimSuffix(text, body)
	if !bom {
		mark = ""
	}
	switch format {
	case JSON, OwnJSON:
		tree, err := jsontree.Parse([]byte(body))
		if err != nil {
			return mark + mask(body)
		}
		w := walker{s: s, own: format == OwnJSON || strings.HasPrefix(tree.Root().At("kind").Text(), ourKind)}
		return mark + w.json(body, tree.Root())
	case TOML, OwnTOML:
		doc, err := toml.Parse([]byte(body))
		if err != nil {
			return mark + mask(body)
		}
		w := tomlWalker{walker: walker{s: s, own: format == OwnTOML}, text: body}
		return mark + w.document(doc.Statements())
	case YAML:
		if data, err := yaml.YAMLToJSONStrict([]byte(body)); err == nil {
			if data, err = yaml.JSONToYAML([]byte(s.Config(JSON, string(data)))); err == nil {
				return string(data)
			}
		}
		return mask(text)
	}
	return s.Text(text)
}

// walker scrubs the texts of a configuration.
type walker struct {
	s   *Scrubber
	own bool
}

// json splices stand-ins into a text that parses.
func (w walker) json(text string, root jsontree.Value) string {
	var b strings.Builder
	at := 0
	put := func(v jsontree.Value, to string) {
		from, end := v.Span()
		b.WriteString(text[at:from])
		b.Write(jsontree.AppendString(nil, to))
		at = end
	}
	var walk func(v jsontree.Value, path []string)
	walk = func(v jsontree.Value, path []string) {
		switch v.Kind() {
		case jsontree.String:
			if to := w.value(path, v.Text()); to != v.Text() {
				put(v, to)
			}
		case jsontree.Array:
			for e := range v.Elements() {
				walk(e, path)
			}
		case jsontree.Object:
			for key, e := range v.Members() {
				name := key.Text()
				if to := w.key(path, name); to != name {
					put(key, to)
				}
				if name == "hostPath" && w.sameAsPath(e, v) {
					put(e, "")
					continue
				}
				walk(e, append(slices.Clone(path), name))
			}
		}
	}
	walk(root, nil)
	return b.String() + text[at:]
}

// sameAsPath tells whether a device's path on its host was another than in a container
// for the root alone. On the host itself nobody states it, and empty is not stated.
func (w walker) sameAsPath(hostPath, device jsontree.Value) bool {
	if !w.own || hostPath.Kind() != jsontree.String {
		return false
	}
	to := w.s.unrooted(hostPath.Text())
	return to != hostPath.Text() && to == device.At("path").Text()
}

// identities are keys of the toolkit's own whose texts name somebody.
var identities = map[string]Class{
	"uuid": UUID, "serial": Serial, "boardSerial": Serial, "chipSerial": Serial, "alias": Alias,
	"image": Image, "container": hex,
}

// versions are keys whose texts may have the form of an IP address and are none.
var versions = []string{"version", "Version", "ServerVersion", "cdiVersion", "driver", "maca"}

// value is what becomes of a text below the keys of path.
func (w walker) value(path []string, text string) string {
	if text == "" {
		return ""
	}
	last := ""
	if len(path) > 0 {
		last = path[len(path)-1]
	}
	if slices.Contains(versions, last) {
		w.s.Learn(Version, text)
	}
	if !w.own {
		if slices.ContainsFunc(path, func(k string) bool { return closed[k] }) {
			return scrubbed
		}
		if open[last] || len(path) > 1 && path[len(path)-2] == "runtimes" || slices.Contains(words, text) {
			return w.s.Text(text)
		}
		return scrubbed
	}
	if class, ok := identities[last]; ok {
		return w.s.Word(class, text)
	}
	parent := ""
	if len(path) > 1 {
		parent = path[len(path)-2]
	}
	switch {
	case parent == annotations && !strings.HasPrefix(last, ourKind):
		return scrubbed
	case last == "name" && parent == "user":
		return w.s.Word(User, text)
	case last == "name" && slices.Contains(path, "seen"):
		return w.s.Word(Name, text)
	case last == "env":
		name, value, _ := strings.Cut(text, "=")
		if value != "" && !slices.Contains(plainEnv, name) {
			value = scrubbed
		}
		return name + "=" + w.s.Text(value)
	}
	return w.s.Text(text)
}

// key is what becomes of a key.
func (w walker) key(path []string, name string) string {
	switch {
	case len(path) > 0 && path[len(path)-1] == annotations && strings.HasPrefix(name, ourKind):
		return name
	case slices.ContainsFunc(path, func(k string) bool { return closed[k] && (!w.own || k == annotations) }):
		return w.s.Word("key", name)
	case open[name] || closed[name] || identities[name] != "":
		return name
	}
	return w.s.Text(name)
}

// mask keeps the punctuation of a text, and words that configurations have in
// common; of others, letters become x and digits 0.
func mask(text string) string {
	b := []byte(text)
	for at := 0; at < len(b); {
		end := at
		for end < len(b) && (isWordByte(b[end]) || b[end] == '-' || b[end] >= 0x80) {
			end++
		}
		if end == at {
			at++
			continue
		}
		if word := string(b[at:end]); !open[word] && !closed[word] && !slices.Contains(words, word) {
			for i := at; i < end; i++ {
				switch {
				case b[i] >= '0' && b[i] <= '9':
					b[i] = '0'
				case b[i] != '-' && b[i] != '_':
					b[i] = 'x'
				}
			}
		}
		at = end
	}
	return string(b)
}
