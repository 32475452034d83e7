// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/snapshot"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// The version and kind of a Report.
const (
	APIVersion = "metax-ctk/v1"
	Kind       = "Diagnosis"
)

// Report is what doctor prints. Lists are never nil.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Platform is what the host runs on.
	Platform Platform `json:"platform"`
	// Healthy is whether there is nothing worse than an Info.
	Healthy bool `json:"healthy"`
	// Summary counts the GPUs of a healthy node and names its driver, if all checks were made.
	Summary  string    `json:"summary,omitempty"`
	Checks   int       `json:"checks"` // how many were made
	Findings []Finding `json:"findings"`
	// Results are those of every check, in the order of a node's start.
	Results []Result `json:"results,omitempty"`
}

// Result is what one check found.
type Result struct {
	Check string `json:"check"`
	// Result is "ok" if it found nothing, its worst Severity if it found something, and
	// "skipped" if it does not apply or its facts were not collected.
	Result string `json:"result"`
	Title  string `json:"title"`
}

// Diagnose collects facts and judges them by the checks.
func Diagnose(ctx context.Context, c Config, checks []Check) (Report, error) {
	facts, err := Collect(ctx, c)
	if err != nil {
		return Report{}, err
	}
	r := NewReport(checks, facts)
	if c.Trimmed {
		for i, f := range r.Findings {
			r.Findings[i].What, r.Findings[i].Safe = snapshot.Unrooted(c.Root.Dir(), f.What), false
		}
	}
	return r, nil
}

// NewReport judges the facts by the checks.
func NewReport(checks []Check, f *Facts) Report {
	r := Report{
		APIVersion: APIVersion, Kind: Kind, Platform: f.hostPlatform(), Checks: len(checks),
		Findings: Judge(checks, f),
	}
	r.Healthy = !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity != Info })
	if r.Healthy && len(checks) == len(Checks()) {
		r.Summary = f.summary()
	}
	for _, c := range checks {
		result := Result{c.ID, "ok", c.Title}
		// The worst ones come first.
		if i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Check == c.ID }); i >= 0 {
			result.Result = string(r.Findings[i].Severity)
		} else if c.applies != nil && !c.applies(f) {
			result.Result = "skipped"
		}
		r.Results = append(r.Results, result)
	}
	return r
}

// summary is what there is on a healthy node.
func (f *Facts) summary() string {
	parts := []string{wording.Count(len(f.Kernel.GPUs), "GPU")}
	if v := f.Kernel.Module.Version; v != "" {
		parts = append(parts, "driver "+terminal.Line(v))
	}
	if f.hasSpec() {
		parts = append(parts, "CDI spec up to date")
	}
	return strings.Join(parts, ", ")
}

// Fixable are the findings that doctor can fix safely, one of those with the same fix.
func (r Report) Fixable() (findings []Finding) {
	for _, f := range r.Findings {
		if f.Safe && !slices.ContainsFunc(findings, func(o Finding) bool { return o.Fix == f.Fix }) {
			findings = append(findings, f)
		}
	}
	return findings
}

// Has reports whether a check found something.
func (r Report) Has(id string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Check == id })
}

// Text is the report for a person.
func (r Report) Text() string {
	var text strings.Builder
	for _, f := range r.Findings {
		text.WriteString(f.String() + "\n")
	}
	text.WriteString(r.Platform.text())
	var counts []string
	for _, s := range []Severity{Error, Warning, Info} {
		n := 0
		for _, f := range r.Findings {
			if f.Severity == s {
				n++
			}
		}
		switch {
		case n > 0 && s == Info:
			counts = append(counts, fmt.Sprintf("%d info", n))
		case n > 0:
			counts = append(counts, wording.Count(n, string(s)))
		}
	}
	fmt.Fprintf(&text, "%s, %s", wording.Count(r.Checks, "check"), wording.Count(len(r.Findings), "finding"))
	if len(counts) > 0 {
		text.WriteString(": " + strings.Join(counts, ", "))
	}
	text.WriteString("\n")
	if r.Summary != "" {
		text.WriteString(r.Summary + ": healthy\n")
	}
	return text.String()
}

// String is the finding in several lines, without a newline at the end.
func (f Finding) String() string {
	fix := strings.ReplaceAll(f.Fix, "\n", "\n       ")
	if f.Safe {
		fix += "   (--fix does it)"
	}
	return fmt.Sprintf("%s: %s\n  what %s\n  why  %s\n  fix  %s", f.Severity, f.Check, f.What, f.Why, fix)
}
