// SPDX-License-Identifier: Apache-2.0

// Package optiontest compares the options of a program with the pages that list them.
package optiontest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

var row = regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\|")

// Check demands that the tables of a page have all flags and no others, in their order, in
// both languages; those of the log, which all programs have, are on the page of the chart's
// values. It is for tests of the programs, whose directory is k8s/cmd/NAME.
func Check(t *testing.T, flags []cli.Flag, page string) {
	t.Helper()
	var want []string
	for _, f := range flags {
		if name := f.Names()[0]; !strings.HasPrefix(name, "log-") {
			want = append(want, name)
		}
	}
	for _, path := range []string{"../../../docs/" + page, "../../../docs/zh/" + page} {
		text, err := os.ReadFile(path) //nolint:gosec // G304: two pages of these sources, in their tests
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range row.FindAllSubmatch(text, -1) {
			got = append(got, string(m[1]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-options +page):\n%s", path, diff)
		}
	}
}
