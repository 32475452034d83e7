// SPDX-License-Identifier: Apache-2.0

package insidelook

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// String formats what was found for people: the UUIDs, then a line for each way in which
// opening device nodes ended, such as "can be opened: mxcd, card1 … card4".
func (g GPUs) String() string {
	var text strings.Builder
	for _, id := range g.UUIDs {
		fmt.Fprintln(&text, id)
	}
	type ending struct{ what, note string }
	var endings []ending
	names := map[ending][]string{}
	for _, n := range slices.Concat(g.Nodes, g.Others) {
		what, note := n.ending()
		e := ending{what, note}
		if names[e] == nil {
			endings = append(endings, e)
		}
		names[e] = append(names[e], n.name())
	}
	for _, e := range endings {
		fmt.Fprintf(&text, "%s: %s%s\n", e.what, series(names[e]), e.note)
	}
	return text.String()
}

// ending is how opening the node ended, and a note behind the names of the nodes that it ended
// so for.
func (n Node) ending() (what, note string) {
	switch {
	case n.refused():
		return "refused", ""
	case n.Err == nil:
		return "can be opened", ""
	case errors.Is(n.Err, syscall.ENXIO):
		return "can be opened", " (no GPU behind: simulated, or the driver is not loaded)"
	}
	return "can be opened", fmt.Sprintf(" (the driver answers: %v)", wording.Cause(n.Err))
}

// series formats names that may end in numbers, with three or more in a row as in "card1 …
// card4".
func series(names []string) string {
	var prefixes, words []string
	numbers := map[string][]int{}
	for _, name := range names {
		prefix := strings.TrimRight(name, "0123456789")
		number, err := strconv.Atoi(name[len(prefix):])
		if err != nil {
			words = append(words, name)
			continue
		}
		if numbers[prefix] == nil {
			prefixes = append(prefixes, prefix)
		}
		numbers[prefix] = append(numbers[prefix], number)
	}
	for _, prefix := range prefixes {
		slices.Sort(numbers[prefix])
		for part := range strings.SplitSeq(wording.Ranges(numbers[prefix]), ",") {
			first, last, more := strings.Cut(part, "-")
			word := prefix + first
			if more {
				word += " … " + prefix + last
			}
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}
