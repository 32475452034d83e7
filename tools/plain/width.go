// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/go/analysis"
)

// How many columns a line has at most; a tab is one column, as for golangci-lint.
const (
	widestCode    = 120
	widestComment = 95
	// What a line has at most beside a text that makes it too wide: a message is not broken.
	widestBesideText = 60
)

var width = analyzer("width", "reports lines that are too wide", func(pass *analysis.Pass, n ast.Node, _ []ast.Node) {
	file, ok := n.(*ast.File)
	if !ok {
		return
	}
	at := pass.Fset.File(file.FileStart)
	data, err := pass.ReadFile(at.Name())
	if err != nil {
		return
	}
	texts := widestTexts(at, file)
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimRight(line, "\r\n")
		got, most := utf8.RuneCount(line), widest(string(line))
		if got <= most || got-texts[number] <= widestBesideText {
			continue
		}
		start := at.LineStart(number)
		report(pass, &ast.BadExpr{From: start, To: start + token.Pos(len(line))},
			fmt.Sprintf("break the line: it has more than %d columns", most))
	}
})

// widest is how many columns a line may have. A directive, and a comment of one word, cannot
// be broken.
func widest(line string) int {
	text, comment := strings.CutPrefix(strings.TrimSpace(line), "//")
	switch {
	case !comment:
		return widestCode
	case !strings.HasPrefix(text, " ") || strings.HasPrefix(text, " +") || !strings.Contains(text[1:], " "):
		return len(line)
	}
	return widestComment
}

// widestTexts has for each line the columns of its widest text; all of a line within a text of
// several lines.
func widestTexts(at *token.File, file *ast.File) map[int]int {
	const all = 1 << 20
	texts := map[int]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		first, last := at.Line(literal.Pos()), at.Line(literal.End())
		for line := first; line <= last; line++ {
			width := utf8.RuneCountInString(literal.Value)
			if first != last {
				width = all
			}
			texts[line] = max(texts[line], width)
		}
		return true
	})
	return texts
}
