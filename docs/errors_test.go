// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	messageRow = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|") // its first cell
	quoted     = regexp.MustCompile("`([^`]+)`")
)

// toolkitMessages returns the messages in the tables of a page of errors, without those of
// engines, which are in the last section. "…" stands in them for names and numbers.
func toolkitMessages(t *testing.T, page string) (all []string) {
	t.Helper()
	sections := strings.Split(readFile(t, page), "\n## ")
	for _, section := range sections[:len(sections)-1] {
		for _, row := range messageRow.FindAllStringSubmatch(section, -1) {
			for _, message := range quoted.FindAllStringSubmatch(row[1], -1) {
				all = append(all, message[1])
			}
		}
	}
	return all
}

// What "…" stands for in a message.
const (
	aVerb    = `\s?%[^ ]+?[ ,;:)]*` // in the code
	anyWords = `.{0,100}?`          // in what a program prints
)

// messagePattern returns the pattern of a message.
func messagePattern(message, anything string) *regexp.Regexp {
	var pieces []string
	for _, piece := range strings.Split(strings.Trim(message, "… "), "…") {
		pieces = append(pieces, regexp.QuoteMeta(strings.TrimSpace(piece)))
	}
	return regexp.MustCompile(strings.Join(pieces, anything))
}

// TestErrors demands that a program says each message of the toolkit on the page of errors:
// its words stand in one string of the code with a verb for each "…", or in what a script or
// a test with real engines demands.
func TestErrors(t *testing.T) {
	var code, said []string
	for _, dir := range []string{"../cmd", "../internal"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				code = append(code, stringsIn(t, path)...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range refusals(t) {
		said = append(said, r.words)
	}
	engines, err := filepath.Glob("../test/e2e/*_test.go")
	if err != nil || len(engines) == 0 {
		t.Fatal(len(engines), err)
	}
	for _, path := range engines {
		said = append(said, stringsIn(t, path)...)
	}
	all := toolkitMessages(t, "errors.md")
	if len(all) < 40 {
		t.Errorf("only %d messages", len(all))
	}
	for _, m := range all {
		if !slices.ContainsFunc(code, messagePattern(m, aVerb).MatchString) && !slices.ContainsFunc(said, messagePattern(m, anyWords).MatchString) {
			t.Errorf("errors.md: no program says %q", m)
		}
	}
	if diff := cmp.Diff(all, toolkitMessages(t, "zh/errors.md")); diff != "" {
		t.Errorf("zh/errors.md has other messages (-English +Chinese):\n%s", diff)
	}
}

// stringsIn returns the string literals of a Go file.
func stringsIn(t *testing.T, path string) (texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
