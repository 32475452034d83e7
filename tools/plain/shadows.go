// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

var shadows = analyzer("shadows", "reports variables, also parameters, that hide a package which the file imports",
	func(pass *analysis.Pass, n ast.Node, around []ast.Node) {
		id, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		variable, ok := pass.TypesInfo.Defs[id].(*types.Var)
		if !ok || variable.IsField() || id.Name == "_" {
			return
		}
		for _, spec := range around[0].(*ast.File).Imports {
			if name := pass.TypesInfo.PkgNameOf(spec); name != nil && name.Name() == id.Name {
				report(pass, id, "give it another name: the file imports a package "+id.Name)
			}
		}
	})
