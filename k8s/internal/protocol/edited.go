// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ValuesOf returns the name of the ConfigMap with what the chart's values say, for that of a
// ConfigMap that people edit. Helm states no data of the latter, so that no upgrade and no
// rollback takes an edit back.
func ValuesOf(name string) string { return name + "-values" }

// Edit returns the data that holds: each key of the edits, and of the values those that the
// edits do not have. over are the keys, sorted, that the values say otherwise.
func Edit(values, edits map[string]string) (data map[string]string, over []string) {
	data = maps.Clone(values)
	if data == nil {
		data = map[string]string{}
	}
	for _, key := range slices.Sorted(maps.Keys(edits)) {
		if text, ok := values[key]; ok && strings.TrimSpace(text) != strings.TrimSpace(edits[key]) {
			over = append(over, key)
		}
		data[key] = edits[key]
	}
	return data, over
}

// Overrides says which keys of a ConfigMap hold instead of the chart's values; empty without
// such keys.
func Overrides(name string, over []string) string {
	if len(over) == 0 {
		return ""
	}
	return "ConfigMap " + name + " is edited and holds instead of the chart's values: " + strings.Join(over, ", ")
}

// Sum identifies the data of a ConfigMap: 16 hexadecimal digits.
func Sum(data map[string]string) string {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // of texts
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// notes are what of a ConfigMap is not applied, one line each.
type notes struct {
	lines []string
	// unclear is the first that was not understood. It may have been meant for any node, so
	// that a node which no entry names keeps what it has.
	unclear string
}

// addUnapplied adds what is not applied.
func (n *notes) addUnapplied(format string, a ...any) {
	if len(n.lines) < maxProblems {
		n.lines = append(n.lines, fmt.Sprintf(format, a...))
	}
}

// addUnclear adds what is not understood.
func (n *notes) addUnclear(format string, a ...any) {
	n.addUnapplied(format, a...)
	n.markUnclear(fmt.Sprintf(format, a...))
}

// markUnclear marks that something is not understood, which is told elsewhere.
func (n *notes) markUnclear(what string) {
	if n.unclear == "" {
		n.unclear = what
	}
}

// whyUnnamedKeeps is why a node that no entry names keeps what it has; nothing if what it has
// goes. named reports whether every name of the ConfigMap is known to be that of a node.
func (n *notes) whyUnnamedKeeps(named bool) string {
	switch {
	case n.unclear != "":
		return "no entry names this node, but " + n.unclear
	case !named:
		return "no entry names this node, but one of them names no node that is known"
	}
	return ""
}
