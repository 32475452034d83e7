// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page lists the words that are not learned, and must agree with commonWords. It links
// keys.txt.
func TestDocsList(t *testing.T) {
	for _, page := range []string{"snapshot.md", "zh/snapshot.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "<!-- common -->\n```\n")
		said, _, ok := strings.Cut(rest, "```\n")
		if !ok {
			t.Errorf("%s has no list of common words", page)
		}
		if diff := cmp.Diff(slices.Compact(slices.Sorted(slices.Values(commonWords))), slices.Sorted(slices.Values(strings.Fields(said)))); diff != "" {
			t.Errorf("%s, commonWords (-code +page):\n%s", page, diff)
		}
	}
}
