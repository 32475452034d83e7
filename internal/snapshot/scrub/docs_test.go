package scrub

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page lists which values a snapshot keeps, and must agree with keys.txt.
func TestDocsLists(t *testing.T) {
	for _, page := range []string{"snapshot.md", "zh/snapshot.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		said := func(list string) string {
			_, rest, _ := strings.Cut(string(text), "<!-- "+list+" -->\n```\n")
			said, _, ok := strings.Cut(rest, "```\n")
			if !ok {
				t.Errorf("%s has no list of %s", page, list)
			}
			return said
		}
		if diff := cmp.Diff(keysText, said("keys")); diff != "" {
			t.Errorf("%s, keys (-code +page):\n%s", page, diff)
		}
		if diff := cmp.Diff(slices.Compact(slices.Sorted(slices.Values(commonWords))), slices.Sorted(slices.Values(strings.Fields(said("common"))))); diff != "" {
			t.Errorf("%s, commonWords (-code +page):\n%s", page, diff)
		}
	}
}
