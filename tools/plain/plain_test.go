// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// TestPlain: what is reported in testdata, what is not, and how it is fixed.
func TestPlain(t *testing.T) {
	for _, a := range []*analysis.Analyzer{changed, emptycase, mixed, positional, switchinit, width} {
		t.Run(a.Name, func(t *testing.T) {
			analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), a, a.Name)
		})
	}
}
