// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// analyzer looks at each node of the files of a package that are no tests. With a node come
// those around it, the innermost last.
func analyzer(name, doc string, look func(pass *analysis.Pass, n ast.Node, around []ast.Node)) *analysis.Analyzer {
	run := func(pass *analysis.Pass) (any, error) {
		for _, file := range pass.Files {
			if strings.HasSuffix(pass.Fset.Position(file.FileStart).Filename, "_test.go") || ast.IsGenerated(file) {
				continue
			}
			var around []ast.Node
			ast.Inspect(file, func(n ast.Node) bool {
				if n == nil {
					around = around[:len(around)-1]
					return true
				}
				look(pass, n, around)
				around = append(around, n)
				return true
			})
		}
		return nil, nil
	}
	return &analysis.Analyzer{Name: name, Doc: doc, Run: run}
}

// report reports a node, with the edits that fix it; none if a person has to.
func report(pass *analysis.Pass, at ast.Node, message string, edits ...analysis.TextEdit) {
	d := analysis.Diagnostic{Pos: at.Pos(), End: at.End(), Message: message}
	if len(edits) > 0 {
		d.SuggestedFixes = []analysis.SuggestedFix{{Message: "fix it", TextEdits: edits}}
	}
	pass.Report(d)
}

func insert(at token.Pos, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: at, End: at, NewText: []byte(text)}
}

// source is the text of a node.
func source(pass *analysis.Pass, n ast.Node) string {
	var b bytes.Buffer
	if format.Node(&b, pass.Fset, n) != nil {
		return ""
	}
	return b.String()
}

// inFront are the edits that make the init of a statement a statement of its own in front of
// it; none where the statement does not stand in a block.
func inFront(pass *analysis.Pass, statement ast.Node, init ast.Stmt, word string,
	around []ast.Node,
) []analysis.TextEdit {
	switch around[len(around)-1].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
	default:
		return nil
	}
	end := init.End()
	text := source(pass, init)
	return []analysis.TextEdit{{
		Pos: statement.Pos(), End: end + semicolon(pass, end),
		NewText: []byte(text + "\n" + word + " "),
	}}
}

// semicolon is how many bytes there are from the end of an init to what follows its semicolon.
func semicolon(pass *analysis.Pass, end token.Pos) token.Pos {
	text, err := pass.ReadFile(pass.Fset.Position(end).Filename)
	if err != nil {
		return 0
	}
	rest := string(text[pass.Fset.Position(end).Offset:])
	at := strings.IndexByte(rest, ';') + 1
	return token.Pos(at + len(rest[at:]) - len(strings.TrimLeft(rest[at:], " ")))
}
