// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"maps"
	"slices"
)

// wishes are what a ConfigMap wishes of nodes. The zero value is that of one that does not
// exist.
type wishes[W wish[W]] struct {
	nodes map[string]W
	notes notes
	// broken is why it is not known what is wished of nodes that are not in nodes.
	broken string
}

// wish is what is wished of a node: its Problem, and the wish for a node that keeps what it
// has.
type wish[W any] interface {
	problem() string
	unknown(named bool, problem string) W
}

// For returns what is wished of a node. named reports whether all Names are known to be names
// of nodes: if not, or if something is not understood, a node that no entry names keeps what
// it has.
func (w wishes[W]) For(node string, named bool) W {
	is, ok := w.nodes[node]
	switch {
	case w.broken != "":
		return is.unknown(true, w.broken)
	case ok:
		return is
	}
	return is.unknown(false, w.notes.whyUnnamedKeeps(named))
}

// Names are the nodes that entries name, sorted.
func (w wishes[W]) Names() []string { return slices.Sorted(maps.Keys(w.nodes)) }

// Notes are what is not applied, or not understood, one line each.
func (w wishes[W]) Notes() []string { return w.notes.lines }

// Problems are why no entry, or an entry, is applied, one line each.
func (w wishes[W]) Problems() (list []string) {
	if w.broken != "" {
		return []string{w.broken}
	}
	for _, name := range w.Names() {
		if p := w.nodes[name].problem(); p != "" && len(list) < maxProblems {
			list = append(list, p)
		}
	}
	return list
}

// tooLarge is why the data of a ConfigMap is not read, if it is not.
func tooLarge(data map[string]string) string {
	size := 0
	for _, text := range data {
		size += len(text)
	}
	if size <= maxConfig {
		return ""
	}
	return fmt.Sprintf("%d bytes; at most %d are read", size, maxConfig)
}
