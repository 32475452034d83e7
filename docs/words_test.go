// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
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

// The kinds of text in which a word is looked for.
const (
	messages  = "message"  // string literals of programs that are more than one word
	comments  = "comment"  // of Go files, also of tests
	documents = "document" // the pages
)

// retired are words and patterns that must not come back. To retire one, replace it
// everywhere in the texts of its kinds and add it here.
var retired = []struct {
	pattern, instead string
	in               []string
	fine             string // a pattern of words that are left out of the search
}{
	{`asked for`, "requested", []string{messages, documents}, ""},
	{`(are|is) held\b|held by`, "in use (by)", []string{messages, documents}, ""},
	{`unavailable`, "unhealthy, with the reason", []string{messages}, ""},
	{`\b[Mm]end(s|ed|ing)?\b`, "fix", []string{messages, documents}, ""},
	{`true to (the|its)`, "up to date, out of date", []string{messages, comments, documents}, ""},
	{`\b(island|ring)s?\b`, "MetaXLink domain", []string{messages}, ""},
	{`in vain`, "gave up after TIME", []string{messages, comments, documents}, ""},
	{`left alone`, "skipped, left unchanged", []string{messages, comments, documents}, ""},
	{`all the same\b`, "anyway, or nothing", []string{messages, comments, documents}, ""},
	{`\bthere (is|are|was|were) none\b`, "X does not exist, without X", []string{messages, comments, documents}, `\b(if|where|until|whether|that) there (is|are|was|were) none|^there (is|are|was|were) none`},
	{`, too([^ ]|$)`, "also, before the verb", []string{messages, documents}, ""},
	{`\b(ours|theirs)\b`, "our X", []string{messages, documents}, ""},
	{`\b[Oo]f (ours|theirs)\b`, "our X", []string{comments}, ""},
	{`\btells? whether\b`, "reports whether", []string{comments, documents}, ""},
	{`is no host\b`, "is not a host", []string{messages, comments, documents}, ""},
	{`(\b[Gg](ive|ives|ave|iving) (GPUs? |a GPU |it )?|\b(is|are|was|were) given )away\b`, "assign", []string{comments, documents}, ""},
	{`\b[Nn]obody\b`, "no process, only root, or whose it is", []string{messages}, ""},
	{`\b(is|are) no [a-z]`, "is not a", []string{messages, comments, documents}, `\b[Tt]?here (is|are) no |(is|are) no (longer|less|more)\b`},
	{`is none of`, "is not one of", []string{messages, documents}, ""},
	{`without detours`, "clean absolute path", []string{messages, comments, documents}, ""},
	{`in force\b`, "applied, read by the engine", []string{messages}, ""},
	{`跟随容器`, "与容器同生命周期", []string{documents}, ""},
	{`套接字`, "socket", []string{documents}, ""},
	{`互联`, "互连", []string{documents}, "互联网"},
	{`您`, "你", []string{documents}, ""},
	{`(错误|报错)信息`, "错误消息", []string{documents}, ""},
	{`[一-龥，。（）、] ?pods?\b`, "Pod", []string{documents}, ""},
}

// expressions are the patterns of retired, compiled once: they meet each line of the project.
var expressions = func() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for _, r := range retired {
		all[r.pattern], all[r.fine] = regexp.MustCompile(r.pattern), regexp.MustCompile(r.fine)
	}
	return all
}()

// TestRetiredWords looks for them in the code and on the pages.
func TestRetiredWords(t *testing.T) {
	decisions, err := filepath.Glob("adr/*.md")
	if err != nil || len(decisions) == 0 {
		t.Fatal(len(decisions), err)
	}
	for _, page := range append(pages(t), decisions...) {
		if filepath.Base(page) != "CHANGELOG.md" { // which says what was
			report(t, page, found(documents, readFile(t, page)))
		}
	}
	for _, dir := range []string{"../cmd", "../internal", "../test"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "words_test.go") {
				report(t, path, foundInGo(t, path, readFile(t, path)))
			}
			if err == nil && filepath.Ext(path) == ".txt" && strings.HasPrefix(path, "../cmd/") { // texts of help
				report(t, path, found(messages, readFile(t, path)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRetiredWordsAreFound plants some.
func TestRetiredWordsAreFound(t *testing.T) {
	const source = `// Package p is true to the node. A test is no proof: there is none.
//
// There is no place for it, and it is no longer here; nil if there is none.
package p

const a, b, c = "2 GPUs asked for", "unavailable", "p/unavailable"

func f() { g("GPU %d is held by %s, too", 1) } // asked for is fine here
`
	const doc = "Package p is true to the node. A test is no proof: there is none."
	want := []string{
		`"2 GPUs asked for" in a message: say "requested"`,
		`"GPU %d is held by %s, too" in a message: say "in use (by)"`,
		`"GPU %d is held by %s, too" in a message: say "also, before the verb"`,
		fmt.Sprintf(`%q in a comment: say "up to date, out of date"`, doc),
		fmt.Sprintf(`%q in a comment: say "X does not exist, without X"`, doc),
		fmt.Sprintf(`%q in a comment: say "is not a"`, doc),
	}
	if diff := cmp.Diff(want, foundInGo(t, "p.go", source)); diff != "" {
		t.Error(diff)
	}
	want = []string{`"It waited in vain." in a document: say "gave up after TIME"`}
	if diff := cmp.Diff(want, found(documents, "# A page\nIt waited in vain.\n")); diff != "" {
		t.Error(diff)
	}
}

func report(t *testing.T, path string, lines []string) {
	t.Helper()
	for _, line := range lines {
		t.Errorf("%s: %s", strings.TrimPrefix(path, "../"), line)
	}
}

// found are the lines of a text of that kind which have retired words.
func found(kind, text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		for _, r := range retired {
			if !slices.Contains(r.in, kind) {
				continue
			}
			rest := line
			if r.fine != "" {
				rest = expressions[r.fine].ReplaceAllString(line, "")
			}
			if expressions[r.pattern].MatchString(rest) {
				lines = append(lines, fmt.Sprintf("%q in a %s: say %q", strings.TrimSpace(line), kind, r.instead))
			}
		}
	}
	return lines
}

// foundInGo are those of the messages and comments of a Go file.
func foundInGo(t *testing.T, path, source string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	says := !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "../test/")
	var lines []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && says {
			if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, " ") {
				lines = append(lines, found(messages, text)...)
			}
		}
		return true
	})
	for _, group := range file.Comments {
		lines = append(lines, found(comments, group.Text())...)
	}
	return lines
}
