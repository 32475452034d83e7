package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/metax-ctk/container-toolkit/internal/svg"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/plot"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/trace"
	"github.com/metax-ctk/container-toolkit/test/placement"
)

var clusterPages = []page{
	{"docs/kubernetes-performance.md", "kubernetes-performance.md.tmpl", "met", "**missed**"},
	{"docs/zh/kubernetes-performance.md", "kubernetes-performance.zh.md.tmpl", "达到", "**未达到**"},
}

// The pictures of the pages.
const (
	nodesPath = "docs/kubernetes-nodes.svg"
	dayPath   = "docs/kubernetes-day.svg"
)

// clusterFiles are the pages and pictures by their paths in the repository.
func clusterFiles(r ClusterResults) (map[string][]byte, error) {
	day, err := drawDay(r)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{nodesPath: plotNodes(r.Nodes), dayPath: day}
	for _, p := range clusterPages {
		if files[p.path], err = p.renderCluster(r); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func writeCluster(r ClusterResults, dir string) error {
	files, err := clusterFiles(r)
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.WriteFile(filepath.Join(dir, path), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (p page) renderCluster(r ClusterResults) ([]byte, error) {
	verdict := func(ok bool) string {
		if ok {
			return p.met
		}
		return p.missed
	}
	parsed, err := template.New(p.template).Option("missingkey=error").Funcs(template.FuncMap{
		"within": within, "mean": mean, "share": share, "percent": func(v float64) string { return share(int(v*1e6), 1e6) },
		"cpu":    func(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) },
		"bytes":  func(n int64) string { return figure.Bytes.String(float64(n)) },
		"timed":  r.call,
		"time":   func(n float64) string { return figure.Nanoseconds.String(n) },
		"below":  func(n, most float64) string { return verdict(n <= most) },
		"rate":   func(n placement.Nodes) string { return fmt.Sprintf("%.0f", rate(n)) },
		"faster": func(a placement.Answers, percent int, ms float64) string { return verdict(bound(a, percent) <= ms/1e3) },
		"most":   func(n, most int64) string { return verdict(n <= most) },
		"least":  func(n placement.Nodes, least float64) string { return verdict(rate(n) >= least) },
		"ran":    r.ran,
		"nodes":  func(count int) (placement.Nodes, error) { return r.at(count) },
	}).ParseFS(templates, p.template)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, r); err != nil {
		return nil, fmt.Errorf("write %s: %w", path.Base(p.path), err)
	}
	return text.Bytes(), nil
}

// call is a line of the table of calls: what, median, 99th percentile, worst.
func (r ClusterResults) call(name, what string) (string, error) {
	c, ok := r.Calls[name]
	if !ok {
		return "", fmt.Errorf("no figure %q", name)
	}
	unit := figure.Nanoseconds
	return line(what, unit.String(c.Median), unit.String(c.P99), unit.String(c.Worst)), nil
}

// ran reports whether a scheduler whose name begins so had the jobs of the day: HAMi's is not a part of the
// source tree.
func (r ClusterResults) ran(name string) bool {
	return slices.ContainsFunc(r.Days, func(d Day) bool { return strings.HasPrefix(d.Policy, name) })
}

// at are the figures of so many nodes.
func (r ClusterResults) at(count int) (placement.Nodes, error) {
	for _, n := range r.Nodes {
		if n.Nodes == count {
			return n, nil
		}
	}
	return placement.Nodes{}, fmt.Errorf("no figures of %d nodes", count)
}

// rate is how many pods a second got their nodes.
func rate(n placement.Nodes) float64 { return float64(n.Pods) / n.Seconds }

// bound is within how many seconds so many percent of the answers came, as far as the bounds tell.
func bound(a placement.Answers, percent int) float64 {
	for _, w := range a.Within {
		if w.Count*100 >= a.Count*percent {
			return w.Seconds
		}
	}
	return math.Inf(1)
}

func within(a placement.Answers, percent int) string {
	if s := bound(a, percent); !math.IsInf(s, 0) {
		return "≤ " + figure.Nanoseconds.Exact(s*1e9)
	}
	return "> 1 s"
}

func mean(a placement.Answers) string {
	return figure.Nanoseconds.String(meanOf(a))
}

func meanOf(a placement.Answers) float64 { return a.Seconds / float64(max(1, a.Count)) * 1e9 }

// plotNodes draws what placing a pod costs as the nodes grow in number.
func plotNodes(all []placement.Nodes) []byte {
	panel := plot.Panel{Title: "mean, 8 GPUs on each node", Lines: make([][]float64, 3)}
	for _, n := range all {
		panel.Words = append(panel.Words, fmt.Sprintf("%d nodes", n.Nodes))
		for i, value := range []float64{1e9 / rate(n), meanOf(n.Prioritize), meanOf(n.Filter)} {
			panel.Lines[i] = append(panel.Lines[i], value)
		}
	}
	return plot.Chart{
		Title: "Placing a pod with GPUs",
		Styles: []plot.Style{
			{Name: "a pod, all in all", Color: svg.Amber},
			{Name: "prioritize", Color: svg.Indigo},
			{Name: "filter", Color: svg.Teal},
		},
		Panels: []plot.Panel{panel},
		Tick:   func(value float64) string { return figure.Nanoseconds.Exact(value) },
	}.SVG()
}

// drawDay draws the course of the day by each scheduler.
func drawDay(r ClusterResults) ([]byte, error) {
	var results []trace.Result
	for _, d := range r.Days {
		results = append(results, d.Result)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("no scheduler had the jobs of a day")
	}
	var picture bytes.Buffer
	err := trace.SVG(&picture, trace.Picture{
		Title:   fmt.Sprintf("A day's jobs on %d nodes of 8 GPUs", dayNodes),
		Note:    fmt.Sprintf("%d jobs, no queue; on these nodes no domain has 8 GPUs, so jobs of 8 are not linked", results[0].Jobs),
		Results: results,
	})
	return picture.Bytes(), err
}
