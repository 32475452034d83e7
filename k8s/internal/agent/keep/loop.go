// SPDX-License-Identifier: Apache-2.0

// Package keep is the loop of the operator's agents: look at the node, report, log what is
// new, wait. What an agent looks at and changes is its own.
package keep

import (
	"context"
	"log/slog"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// Loop is that of one agent.
type Loop struct {
	// Write writes what is said of the component; ok is false if there is nothing to say.
	Write    func(r report.Report, ok bool) error
	Log      *slog.Logger
	Interval time.Duration
	// Whole is for an agent whose looks are not cut short: one that has begun goes on after
	// the end, and is reported.
	Whole bool

	said report.Report
}

// Files returns what writes the reports of a component to a directory.
func Files(dir, component string) func(report.Report, bool) error {
	return func(r report.Report, ok bool) error {
		if !ok {
			return report.Remove(dir, component)
		}
		_, err := report.Write(dir, component, r)
		return err
	}
}

// Say writes a report, and logs it unless it is the one before.
func (l *Loop) Say(r report.Report, ok bool) error {
	if !ok {
		r = report.Report{}
	}
	if err := l.Write(r, ok); err != nil {
		l.Log.Error("the report is not written; trying again", "error", err)
		return err
	}
	if r != l.said {
		l.Log.Info("reported", "ready", r.Ready, "reason", r.Reason, "message", r.Message, "version", r.Version)
	}
	l.said = r
	return nil
}

// Run looks again and again until the context ends, and returns what the last look reported.
func (l *Loop) Run(ctx context.Context, look func(context.Context) (r report.Report, ok bool)) (last report.Report) {
	within := ctx
	if l.Whole {
		within = context.WithoutCancel(ctx)
	}
	for {
		r, ok := look(within)
		if within.Err() != nil {
			return last
		}
		last = r
		_ = l.Say(r, ok) // which logs it
		select {
		case <-ctx.Done():
			return last
		case <-time.After(l.Interval):
		}
	}
}
