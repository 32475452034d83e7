// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"slices"
	"strings"
)

// StandardDirs returns the directories in which engines look for CDI specs by default,
// in ascending priority.
func StandardDirs() []string { return []string{"/etc/cdi", "/var/run/cdi"} }

// Merge returns have with the missing directories of want. Each comes before the next
// one of want that is there, so that the priorities stay.
func Merge(have, want []string) []string {
	merged := slices.Clone(have)
	for i, dir := range want {
		if len(Missing(merged, []string{dir})) == 0 {
			continue
		}
		at := slices.IndexFunc(merged, func(h string) bool { return len(Missing([]string{h}, want[i+1:])) < len(want[i+1:]) })
		if at < 0 {
			at = len(merged)
		}
		merged = slices.Insert(merged, at, dir)
	}
	return merged
}

// Missing returns the directories of want that are not in have. /var/run is a link to
// /run, so both names count as one.
func Missing(have, want []string) []string {
	var missing []string
	for _, dir := range want {
		if !slices.ContainsFunc(have, func(h string) bool { return resolved(h) == resolved(dir) }) {
			missing = append(missing, dir)
		}
	}
	return missing
}

func resolved(dir string) string {
	dir = strings.TrimRight(dir, "/")
	if rest, ok := strings.CutPrefix(dir, "/var/run/"); ok {
		return "/run/" + rest
	}
	return dir
}
