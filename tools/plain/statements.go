// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

var changed = analyzer("changed", "reports variables that the init of an if changes, where the if tests something else",
	func(pass *analysis.Pass, n ast.Node, around []ast.Node) {
		s, ok := n.(*ast.IfStmt)
		if !ok {
			return
		}
		var targets []ast.Expr
		switch init := s.Init.(type) {
		case *ast.AssignStmt:
			if init.Tok == token.DEFINE {
				return
			}
			targets = init.Lhs
		case *ast.IncDecStmt:
			targets = []ast.Expr{init.X}
		default:
			return
		}
		for _, target := range targets {
			if mentions(pass, s.Cond, source(pass, target)) {
				return
			}
		}
		report(pass, s.Init, "it is changed here, and something else is tested: make it a statement of its own",
			inFront(pass, s, s.Init, "if", around)...)
	})

var switchinit = analyzer("switchinit", "reports inits of switches that have no value to compare",
	func(pass *analysis.Pass, n ast.Node, around []ast.Node) {
		s, ok := n.(*ast.SwitchStmt)
		if !ok || s.Init == nil || s.Tag != nil {
			return
		}
		var edits []analysis.TextEdit
		if init, ok := s.Init.(*ast.AssignStmt); ok && (init.Tok != token.DEFINE || isFree(pass, init, around)) {
			edits = inFront(pass, s, s.Init, "switch", around)
		}
		report(pass, s.Init, "make it a statement of its own in front of the switch", edits...)
	})

var emptycase = analyzer("emptycase", "reports cases in which nothing is done, and no comment says why",
	func(pass *analysis.Pass, n ast.Node, around []ast.Node) {
		body, ok := n.(*ast.BlockStmt)
		if !ok {
			return
		}
		for i, statement := range body.List {
			c, ok := statement.(*ast.CaseClause)
			if !ok || len(c.Body) > 0 {
				continue
			}
			end := body.End()
			if i+1 < len(body.List) {
				end = body.List[i+1].Pos()
			}
			said := func(g *ast.CommentGroup) bool { return g.Pos() > c.Pos() && g.Pos() < end }
			if !slices.ContainsFunc(around[0].(*ast.File).Comments, said) {
				report(pass, c, "say in a comment why nothing is done here")
			}
		}
	})

// isFree reports whether the names that a statement defines have no other meaning in the
// function around it.
func isFree(pass *analysis.Pass, init *ast.AssignStmt, around []ast.Node) bool {
	own := map[types.Object]bool{}
	names := map[string]bool{}
	for _, e := range init.Lhs {
		if id, ok := e.(*ast.Ident); ok {
			own[pass.TypesInfo.Defs[id]], names[id.Name] = true, true
		}
	}
	free := true
	ast.Inspect(around[1], func(n ast.Node) bool { // the declaration in the file
		if id, ok := n.(*ast.Ident); ok && names[id.Name] {
			if o := pass.TypesInfo.ObjectOf(id); o != nil && !own[o] && !isMember(o) {
				free = false
			}
		}
		return free
	})
	return free
}

// isMember reports whether a name is that of a field or method, which no variable hides.
func isMember(o types.Object) bool {
	switch o := o.(type) {
	case *types.Var:
		return o.IsField()
	case *types.Func:
		return o.Signature().Recv() != nil
	}
	return false
}
