// SPDX-License-Identifier: Apache-2.0

package dockerargs

import "strings"

// ParseHelp parses the flags in a client's output for --help, in the formats of pflag
// (docker, podman, nerdctl) and of urfave/cli. Lines without a flag are skipped, so a
// text without flags gives an empty Table. Flags that the client hides from its help
// are missing: merge the result over a table that has them.
func ParseHelp(text string) Table {
	var t Table
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		for _, s := range helpLine(line) {
			if seen[s.Name] {
				continue
			}
			if _, taken := t.byLetter(s.Short); taken {
				s.Short = 0
			}
			seen[s.Name] = true
			t = append(t, s)
		}
	}
	t.sortByName()
	return t
}

// helpLine parses a line such as
//
//	-e, --env list       Set environment variables          pflag
//	    --pull string[="always"]   Pull first               pflag, value optional
//	--net value, --network value   Connect to a network     urfave/cli
//
// Flags have a small indent; a line with a deeper one continues the text above.
func helpLine(line string) []Spec {
	const maxIndent = 8
	decl := strings.TrimLeft(line, " ")
	if indent := len(line) - len(decl); indent == 0 || indent > maxIndent || !strings.HasPrefix(decl, "-") {
		return nil
	}
	// The description begins after two blanks.
	decl, _, _ = strings.Cut(decl, "\t")
	decl, _, _ = strings.Cut(decl, "  ")
	decl = strings.TrimRight(decl, " \r\n")

	var specs []Spec
	var short byte
	value := false
	for decl != "" {
		var word string
		if word, decl, _ = strings.Cut(decl, ", "); !strings.HasPrefix(word, "-") {
			continue // the rest of a placeholder
		}
		name, placeholder, spaced := strings.Cut(word, " ")
		// "--name[=x]" and "--name type[=x]" need no value.
		name, _, optional := strings.Cut(name, "[=")
		value = value || (spaced && placeholder != "" && !optional && !strings.Contains(placeholder, "[="))
		long, ok := strings.CutPrefix(name, "--")
		switch {
		case ok && isName(long):
			specs = append(specs, Spec{Name: long})
		case !ok && len(name) == 2 && name[0] == '-' && isName(name[1:]):
			short = name[1]
		default:
			return nil
		}
	}
	if short != 0 && len(specs) == 0 {
		specs = []Spec{{Name: string(short)}}
	}
	for i := range specs {
		specs[i].Value = value
	}
	if short != 0 {
		specs[0].Short = short
	}
	return specs
}

// isName reports whether s may be the name of a flag.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') {
			continue
		}
		if i == 0 || (c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return s != ""
}
