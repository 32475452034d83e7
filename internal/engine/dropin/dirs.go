package dropin

import (
	"slices"
	"strings"
)

// usual are the directories in which engines look for CDI specs.
var usual = []string{"/etc/cdi", "/var/run/cdi"}

// Usual returns the directories in which engines look for CDI specs unless they
// are told otherwise, in ascending priority.
func Usual() []string { return slices.Clone(usual) }

// Merge returns have with the directories of want that are missing in it, each
// before the next one of want that is there, so that the priorities stay.
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

// Missing returns the directories of want that are not in have. /run is where
// /var/run leads.
func Missing(have, want []string) []string {
	var missing []string
	for _, dir := range want {
		if !slices.ContainsFunc(have, func(h string) bool { return place(h) == place(dir) }) {
			missing = append(missing, dir)
		}
	}
	return missing
}

func place(dir string) string {
	dir = strings.TrimRight(dir, "/")
	if rest, ok := strings.CutPrefix(dir, "/var/run/"); ok {
		return "/run/" + rest
	}
	return dir
}
