// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"
)

//go:embed *.tmpl
var templates embed.FS

// page is a page of results in one language.
type page struct {
	path        string // of the page, in the repository
	template    string
	met, missed string // the verdicts on a goal
}

var pages = []page{
	{"docs/performance.md", "performance.md.tmpl", "met", "**missed**"},
	{"docs/zh/performance.md", "performance.zh.md.tmpl", "达到", "**未达到**"},
}

// goal is the most that a figure's median may be, in the figure's unit, after the median of
// the figure beyond is taken away; beyond is empty for a goal of the figure itself.
type goal struct {
	most   float64
	beyond string
}

var goals = map[string]goal{
	"wrapper/none":                                   {most: 2.5e6},
	"wrapper/gpus":                                   {most: 9e6},
	"engine/cdi/added":                               {most: 10e6},
	"engine/flags/added":                             {most: 10e6},
	"go/internal/discover/Discover":                  {most: 5e6},
	"toolkit/generate/8":                             {20e6, "toolkit/mx-smi/8"},
	"memory/generate/8":                              {most: 30 << 20},
	"leases/take/100":                                {most: 15e6},
	"leases/lock/100":                                {most: 5e6},
	"maca/added":                                     {most: 15e6},
	"runtime/none":                                   {0.9e6, "runtime/least"},
	"runtime/four":                                   {1.6e6, "runtime/least"},
	"hook/prestart":                                  {most: 8e6},
	"hook/ours/ldcache":                              {most: 5.5e6},
	"runtime/four/memory":                            {most: 12 << 20},
	"hook/ours/ldcache/memory":                       {most: 12 << 20},
	"program/metax-runtime/size":                     {most: 6 << 20},
	"program/metax-hook/size":                        {most: 6 << 20},
	pickSearch:                                       {most: 1e3},
	pickSearch + "/allocs":                           {most: 0},
	picks + "table/BuildTable/8/quads":               {most: 0.5e6},
	picks + "table/PickMask/16/random/spread":        {most: 300e3},
	picks + "tree/Tree/128/free=64/n=32/spread/cold": {most: 1e6},
	picks + "tree/Tree/1024/free=768/n=100/spread/cold": {most: 5e6},
	picks + "tree/Tree/1024/free=768/n=100/spread/warm": {most: 200e3},
}

const (
	picks      = "go/internal/alloc/"
	pickSearch = picks + "table/PickMask/8/quads/spread"
)

// render makes the page. The same results give the same bytes.
func (p page) render(r Results) ([]byte, error) {
	t := tables{p, r}
	parsed, err := template.New(p.template).Option("missingkey=error").Funcs(template.FuncMap{
		"goal": t.goalLine, "tail": t.tail, "median": t.median, "busy": busyLine,
	}).ParseFS(templates, p.template)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	if err := parsed.Execute(&page, r); err != nil {
		return nil, fmt.Errorf("write %s: %w", path.Base(p.path), err)
	}
	return page.Bytes(), nil
}

// tables makes a page's lines of figures.
type tables struct {
	page
	Results
}

// goalLine is a line of the table of goals: what, median, 95th percentile, goal, verdict.
func (t tables) goalLine(name, what string) (string, error) {
	s, ok := t.Figures[name]
	g, known := goals[name]
	if !ok || !known {
		return "", fmt.Errorf("no figure and goal %q", name)
	}
	if g.beyond != "" {
		base, ok := t.Figures[g.beyond]
		if !ok {
			return "", fmt.Errorf("no figure %q", g.beyond)
		}
		s = s.Beyond(base.Median)
	}
	verdict := t.met
	if s.Median > g.most {
		verdict = t.missed
	}
	bound := s.Unit.Exact(g.most)
	if g.most > 0 {
		bound = "≤ " + bound
	}
	return line(what, s.Unit.String(s.Median), s.Unit.String(s.P95), bound, verdict), nil
}

// tail is a line of a table about the slow ones: what, median, worst.
func (t tables) tail(name, what string) (string, error) {
	s, ok := t.Figures[name]
	if !ok {
		return "", fmt.Errorf("no figure %q", name)
	}
	return line(what, s.Unit.String(s.Median), s.Unit.String(s.Worst)), nil
}

// median is a figure for use in a sentence.
func (t tables) median(name string) (string, error) {
	s, ok := t.Figures[name]
	if !ok {
		return "", fmt.Errorf("no figure %q", name)
	}
	return s.Unit.String(s.Median), nil
}

// share is a part of a whole in percent, rounded towards the middle: only all are 100 %, and
// only none are 0 %.
func share(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	percent := 100 * float64(part) / float64(whole)
	switch {
	case part == 0 || part == whole:
		return fmt.Sprintf("%.0f %%", percent)
	case percent < 0.1:
		return "< 0.1 %"
	case percent > 99.9:
		return "> 99.9 %"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", percent), ".0") + " %"
}

func line(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |" }
