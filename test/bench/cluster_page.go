// SPDX-License-Identifier: Apache-2.0

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

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/placement"
)

var clusterPages = []page{
	{"docs/kubernetes-performance.md", "kubernetes-performance.md.tmpl", "met", "**missed**"},
	{"docs/zh/kubernetes-performance.md", "kubernetes-performance.zh.md.tmpl", "达到", "**未达到**"},
}

// clusterFiles are the pages by their paths in the repository: those of clusterPages, and beside
// them the pages of schedulers, of which the section of the template "day" alone is written.
func clusterFiles(r ClusterResults) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, p := range clusterPages {
		parsed, err := p.parseCluster(r)
		if err != nil {
			return nil, err
		}
		var text, day bytes.Buffer
		for name, into := range map[string]*bytes.Buffer{p.template: &text, "day": &day} {
			if err := parsed.ExecuteTemplate(into, name, r); err != nil {
				return nil, fmt.Errorf("write %s: %w", path.Base(p.path), err)
			}
		}
		files[p.path] = text.Bytes()
		schedulers := path.Join(path.Dir(p.path), "kubernetes-schedulers.md")
		before, err := os.ReadFile(filepath.Join(source, schedulers))
		if err != nil {
			return nil, err
		}
		if files[schedulers], err = withSection(before, day.Bytes()); err != nil {
			return nil, fmt.Errorf("write %s: %w", schedulers, err)
		}
	}
	return files, nil
}

// withSection returns a page with a section, which begins with its heading, in place of the one
// with the same heading.
func withSection(page, section []byte) ([]byte, error) {
	heading, _, _ := bytes.Cut(section, []byte("\n"))
	before, after, found := bytes.Cut(page, slices.Concat([]byte("\n"), heading, []byte("\n")))
	_, rest, next := bytes.Cut(after, []byte("\n## "))
	if !found || !next {
		return nil, fmt.Errorf("there is no section %q with another after it", heading)
	}
	return slices.Concat(before, []byte("\n"), section, []byte("\n## "), rest), nil
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

func (p page) parseCluster(r ClusterResults) (*template.Template, error) {
	verdict := func(ok bool) string {
		if ok {
			return p.met
		}
		return p.missed
	}
	return template.New(p.template).Option("missingkey=error").Funcs(template.FuncMap{
		"within": within, "mean": mean, "share": share, "percent": func(v float64) string { return share(int(v*1e6), 1e6) },
		"cpu":    func(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) },
		"bytes":  func(n int64) string { return figure.Bytes.String(float64(n)) },
		"timed":  r.call,
		"time":   func(n float64) string { return figure.Nanoseconds.String(n) },
		"below":  func(n, most float64) string { return verdict(n <= most) },
		"rate":   func(n placement.Nodes) string { return fmt.Sprintf("%.0f", rate(n)) },
		"floor":  floor,
		"faster": func(a placement.Answers, percent int, ms float64) string { return verdict(bound(a, percent) <= ms/1e3) },
		"most":   func(n, most int64) string { return verdict(n <= most) },
		"least":  func(n placement.Nodes, least float64) string { return verdict(rate(n) >= least) },
		"ran":    r.ran,
		"nodes":  func(count int) (placement.Nodes, error) { return r.at(count) },
	}).ParseFS(templates, p.template)
}

// call is a line of the table of calls: what, median, 99th percentile.
func (r ClusterResults) call(name, what string) (string, error) {
	c, ok := r.Calls[name]
	if !ok {
		return "", fmt.Errorf("no figure %q", name)
	}
	return line(what, figure.Nanoseconds.String(c.Median), figure.Nanoseconds.String(c.P99)), nil
}

// ran reports whether a scheduler whose name begins so had the jobs of the day: HAMi's is not
// a part of the source tree.
func (r ClusterResults) ran(name string) bool {
	return slices.ContainsFunc(r.Scale.Days, func(d placement.Outcome) bool { return strings.HasPrefix(d.Policy, name) })
}

// at are the figures of so many nodes.
func (r ClusterResults) at(count int) (placement.Nodes, error) {
	for _, n := range r.Scale.Nodes {
		if n.Nodes == count {
			return n, nil
		}
	}
	return placement.Nodes{}, fmt.Errorf("no figures of %d nodes", count)
}

// rate is how many pods a second got their nodes.
func rate(n placement.Nodes) float64 { return float64(n.Pods) / n.Seconds }

// floor is the share of the pods a second that an extender lets through which answers at once.
func floor(n placement.Nodes) string {
	if n.Instant == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*n.Instant/n.Seconds)
}

// bound is within how many seconds so many percent of the answers came, as far as the bounds
// tell.
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
	return figure.Nanoseconds.String(a.Seconds / float64(max(1, a.Count)) * 1e9)
}
