// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var mixed = analyzer("mixed", "reports && inside || without parentheses",
	func(pass *analysis.Pass, n ast.Node, _ []ast.Node) {
		or, ok := n.(*ast.BinaryExpr)
		if !ok || or.Op != token.LOR {
			return
		}
		for _, side := range []ast.Expr{or.X, or.Y} {
			if and, ok := side.(*ast.BinaryExpr); ok && and.Op == token.LAND {
				report(pass, and, "put it in parentheses: it is inside ||", insert(and.Pos(), "("), insert(and.End(), ")"))
			}
		}
	})

// fewest fields of a struct that need their names.
const fewest = 4

var positional = analyzer("positional", "reports four and more fields of a struct by position",
	func(pass *analysis.Pass, n ast.Node, _ []ast.Node) {
		literal, ok := n.(*ast.CompositeLit)
		if !ok || len(literal.Elts) < fewest {
			return
		}
		if _, named := literal.Elts[0].(*ast.KeyValueExpr); named {
			return
		}
		t := pass.TypesInfo.TypeOf(literal)
		if p, ok := t.Underlying().(*types.Pointer); ok { // an elided &T
			t = p.Elem()
		}
		s, ok := t.Underlying().(*types.Struct)
		if !ok || s.NumFields() != len(literal.Elts) {
			return
		}
		var edits []analysis.TextEdit
		for i, e := range literal.Elts {
			edits = append(edits, insert(e.Pos(), s.Field(i).Name()+": "))
		}
		report(pass, literal, "name the fields", edits...)
	})

// mentions reports whether an expression contains another, given as text.
func mentions(pass *analysis.Pass, e ast.Expr, text string) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && strings.TrimSpace(source(pass, x)) == text {
			found = true
		}
		return !found
	})
	return found
}
