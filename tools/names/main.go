// SPDX-License-Identifier: Apache-2.0

// Command names counts private functions and methods that another file of their package calls,
// and says how many of them have a name of one word. Such a name says little where its body is
// not in sight. A share above -most percent is an error; -v lists the functions.
//
//	names -most 25 ./...
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"log"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	most := flag.Int("most", 100, "highest share in percent")
	list := flag.Bool("v", false, "list the functions whose name is one word")
	flag.Parse()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Fset: token.NewFileSet()}, flag.Args()...)
	if err != nil || packages.PrintErrors(pkgs) > 0 {
		log.Fatal("names: the packages do not compile ", err)
	}
	all, short := 0, 0
	for _, pkg := range pkgs {
		for _, f := range calledElsewhere(pkg) {
			all++
			if !oneWord(f.Name()) {
				continue
			}
			short++
			if *list {
				fmt.Printf("%s: %s\n", pkg.Fset.Position(f.Pos()), f.FullName())
			}
		}
	}
	percent := 100 * short / max(all, 1)
	fmt.Printf("names: %d of %d private functions that other files call have a name of one word: %d %%, at most %d %%\n",
		short, all, percent, *most)
	if percent > *most {
		os.Exit(1)
	}
}

// calledElsewhere returns the private functions and methods that a file beside their own uses,
// without tests and generated files, as they come in the source.
func calledElsewhere(pkg *packages.Package) []*types.Func {
	generated := map[string]bool{}
	for _, file := range pkg.Syntax {
		generated[pkg.Fset.Position(file.FileStart).Filename] = ast.IsGenerated(file)
	}
	used := map[*types.Func]bool{}
	for at, object := range pkg.TypesInfo.Uses {
		f, ok := object.(*types.Func)
		if !ok || f.Pkg() != pkg.Types || f.Exported() {
			continue
		}
		f = f.Origin()
		own := pkg.Fset.Position(f.Pos()).Filename
		if own != pkg.Fset.Position(at.Pos()).Filename && !generated[own] {
			used[f] = true
		}
	}
	var all []*types.Func
	for f := range used {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *types.Func) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return all
}

func oneWord(name string) bool {
	return !strings.Contains(name, "_") && !strings.ContainsFunc(name, unicode.IsUpper)
}
