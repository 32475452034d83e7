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
)

// TestErrors demands that the words of each message on the page of errors stand in the
// code: between "…", in one string.
func TestErrors(t *testing.T) {
	var texts []string
	for _, dir := range []string{"../cmd", "../internal"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				texts = append(texts, stringsIn(t, path)...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	first := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	for _, page := range []string{"errors.md", "zh/errors.md"} {
		ours := strings.Split(readFile(t, page), "\n## ")[1] // the second table has messages of engines
		messages := first.FindAllStringSubmatch(ours, -1)
		if len(messages) < 20 {
			t.Errorf("%s: only %d messages", page, len(messages))
		}
		for _, m := range messages {
			var quoted []string
			for _, piece := range strings.Split(strings.Trim(m[1], "… "), "…") {
				quoted = append(quoted, regexp.QuoteMeta(strings.TrimSpace(piece)))
			}
			pattern := regexp.MustCompile(strings.Join(quoted, `\s?%[^ ]+?[ ,;:)]*`))
			if !slices.ContainsFunc(texts, pattern.MatchString) {
				t.Errorf("%s: no program says %q", page, m[1])
			}
		}
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
