package scrub

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page says which words a snapshot keeps: its lists are the ones of the code.
func TestDocsLists(t *testing.T) {
	want := map[string][]string{
		"open keys":   slices.Sorted(maps.Keys(open)),
		"closed keys": slices.Sorted(maps.Keys(closed)),
		"plain words": slices.Sorted(slices.Values(words)),
		"common":      slices.Sorted(slices.Values(common)),
		"variables":   slices.Sorted(slices.Values(plainEnv)),
	}
	for _, page := range []string{"snapshot.md", "zh/snapshot.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for list, words := range want {
			_, rest, _ := strings.Cut(string(text), "<!-- "+list+" -->\n```\n")
			said, _, ok := strings.Cut(rest, "```\n")
			if !ok {
				t.Errorf("%s has no list of %s", page, list)
				continue
			}
			if diff := cmp.Diff(slices.Compact(words), slices.Sorted(slices.Values(strings.Fields(said)))); diff != "" {
				t.Errorf("%s, %s (-code +page):\n%s", page, list, diff)
			}
		}
	}
}
