// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	_ "embed"
	"path"
	"strings"
	"sync"
)

// keysText lists what is kept of configuration files and of outputs in JSON or TOML. A
// line that begins with a format names a file or a command; * matches anything except a
// slash. The indented lines below it are paths of keys, from the outermost key on, whose
// values are kept. A key is a word, several words separated by bars, or a pattern. Keys
// apply to all elements of a list. After = is what is kept of texts.
//
//go:embed keys.txt
var keysText string

// list is the entry of keys.txt for a file or output.
type list struct {
	name, format string
	keys         *keys
}

// keys are the keys of a table, in lower case, and what is kept below each. Without
// any, it is a value.
type keys struct {
	below map[string]*keys
	// class is what is kept of a text: "uuid" and other classes for a stand-in, or
	// "text", "env", "nothing". Without a class, it is one of words, or without words a
	// name or path. kept is false where no value is expected.
	kept  bool
	class string
	words []string
}

var lists = sync.OnceValue(func() []list { return parseLists(keysText) })

func parseLists(text string) []list {
	var all []list
	at := &keys{}
	for line := range strings.Lines(text) {
		row := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, " "):
			way, words, _ := strings.Cut(row, " = ")
			at.add(strings.Fields(way), strings.Fields(words))
		case row != "":
			if at.below != nil {
				at = &keys{}
			}
			format, name, _ := strings.Cut(row, " ")
			all = append(all, list{name, format, at})
		}
	}
	return all
}

// add adds the path to a value, and what is kept of it.
func (k *keys) add(way, words []string) {
	if len(way) == 0 {
		k.kept = true
		if len(words) > 0 && words[0][0] == '@' {
			k.class, words = words[0][1:], words[1:]
		}
		k.words = words
		return
	}
	if k.below == nil {
		k.below = map[string]*keys{}
	}
	for key := range strings.SplitSeq(strings.ToLower(way[0]), "|") {
		if k.below[key] == nil {
			k.below[key] = &keys{}
		}
		k.below[key].add(way[1:], words)
	}
}

// keptBelow returns what is kept below a key (nil for nothing), and whether the list has the
// key itself and not a pattern for it. Case is ignored, as dockerd does.
func (k *keys) keptBelow(key string) (below *keys, literal bool) {
	key = strings.ToLower(key)
	if below := k.below[key]; below != nil {
		return below, true
	}
	for pattern, below := range k.below {
		if match, err := path.Match(pattern, key); match && err == nil {
			return below, false // a table has at most one pattern
		}
	}
	return nil, false
}

// Files are the files of which values are kept: absolute paths in which the last
// element may be "*".
func Files() []string {
	var files []string
	for _, l := range lists() {
		if path.IsAbs(l.name) {
			files = append(files, l.name)
		}
	}
	return files
}

// listOf returns the entry for a file or output; the zero list if there is none.
func listOf(name string) list {
	for _, l := range lists() {
		if match, err := path.Match(l.name, name); match && err == nil {
			return l
		}
	}
	return list{}
}
