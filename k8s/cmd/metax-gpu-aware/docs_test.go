package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPages: the pages have all options.
func TestPages(t *testing.T) {
	var want []string
	for _, f := range flags() {
		want = append(want, f.Names()[0])
	}
	for _, page := range []string{"kubernetes-schedulers.md", "zh/kubernetes-schedulers.md"} {
		text, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\|").FindAllSubmatch(text, -1) {
			got = append(got, string(m[1]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", page, diff)
		}
	}
}
