// SPDX-License-Identifier: Apache-2.0

package labeler

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// Labeler reads a host again and again and writes its labels.
type Labeler struct {
	// Read returns the node; label.ErrNoGPU if it certainly has no GPU.
	Read    func(context.Context) (gpu.Node, error)
	Product label.ProductName
	// Recorded returns what tells one recorded node from another. A new one is read at once:
	// labels come with the GPUs.
	Recorded func() string
	// Reports returns what the operator's agents say about the node, by component, and what of
	// it was not taken; nil does not look.
	Reports func() (reports map[string]report.Report, warnings []string)
	// Write gives the node its labels, and the reports as text, and reports whether that
	// changed anything. Without labels, those of the node stay.
	Write func(ctx context.Context, labels map[string]string, reports string) (changed bool, err error)
	// Validate returns the labels that say whether a node can give GPUs to containers; nil
	// does not look.
	Validate func(context.Context, gpu.Node) (map[string]string, error)
	Log      *slog.Logger

	state    label.State
	reports  string   // those of the last step, printed
	recorded string   // by Recorded, before the last step read the host
	warnings []string // those of the last reading, which are not logged twice
}

// Outcome is what a Step came to.
type Outcome int

// The outcomes of a Step.
const (
	Undecided Outcome = iota // the host could not be read, or needs more readings
	Unwritten                // the labels are decided, but could not be written
	Partial                  // the node has its labels but those that need a recorded node, or is not ready
	Written                  // the node has its labels
)

// Step takes one reading, and writes the labels if that decides them.
func (l *Labeler) Step(ctx context.Context) Outcome {
	if l.Recorded != nil {
		l.recorded = l.Recorded()
	}
	n, err := l.Read(ctx)
	var found map[string]string
	var warnings []string
	if err == nil {
		found, warnings = label.Of(n, l.Product)
		warnings = append(slices.Clone(n.Warnings), warnings...)
	} else {
		warnings = []string{err.Error()}
	}
	if ctx.Err() != nil {
		return Undecided
	}
	// After the host: an agent says that it loads a driver before it does, so that none counts
	// as the host's.
	reports, distrusted := l.look()
	l.reports, warnings = report.Print(reports), append(warnings, distrusted...)
	for _, w := range warnings {
		if !slices.Contains(l.warnings, w) {
			l.Log.Warn(w)
		}
	}
	l.warnings = warnings
	var labels map[string]string
	if l.state, labels = l.state.Next(found, err); labels == nil {
		l.writeReports(ctx)
		return Undecided
	}
	if l.Validate != nil {
		more, err := l.Validate(ctx, n)
		if ctx.Err() != nil {
			return Unwritten
		}
		if err != nil {
			l.Log.Error("the node is not validated; trying again", "error", err)
			l.writeReports(ctx)
			return Unwritten
		}
		maps.Copy(labels, more)
	}
	addReports(labels, reports)
	changed, err := l.Write(ctx, labels, l.reports)
	switch {
	case ctx.Err() != nil:
		return Unwritten
	case err != nil:
		l.Log.Error("labels are not written; trying again", "error", err)
		return Unwritten
	case changed:
		l.Log.Info("labels written", "labels", labels)
	}
	if (labels[protocol.LabelInstalled] == "true" && labels[protocol.LabelMemory] == "") ||
		labels[protocol.LabelValidated] == "false" {
		return Partial
	}
	return Written
}

// writeReports writes the reports where the labels are not known: the operator waits for them.
func (l *Labeler) writeReports(ctx context.Context) {
	if l.Reports == nil {
		return
	}
	if _, err := l.Write(ctx, nil, l.reports); err != nil && ctx.Err() == nil {
		l.Log.Error("reports are not written; trying again", "error", err)
	}
}

// look returns the reports of the agents.
func (l *Labeler) look() (map[string]report.Report, []string) {
	if l.Reports == nil {
		return nil, nil
	}
	return l.Reports()
}

// addReports adds the labels of reports, and whether the driver is the host's: what an agent
// does not say is from a payload counts as the host's if it is loaded, or installed. A driver
// is ready only if it is loaded and nobody is about to unload it.
func addReports(labels map[string]string, reports map[string]report.Report) {
	loaded := labels[protocol.LabelDriverReady] == "true"
	maps.Copy(labels, report.Labels(reports))
	driver, ok := reports[report.Driver]
	if ok && !loaded {
		labels[protocol.LabelDriverReady] = "false"
	}
	if driver.Mode != "" {
		labels[protocol.LabelDriverMode] = driver.Mode
	}
	if labels[protocol.LabelInstalled] == "true" {
		mode := labels[protocol.LabelDriverMode]
		labels[protocol.LabelDriverHost] = strconv.FormatBool(mode == gpu.DriverNative || (loaded && mode != gpu.DriverCloud))
	}
}

// glance is the time between two looks at the reports, for which DaemonSets wait, and at the
// record of the node.
const glance = 2 * time.Second

// rest waits for a time, or until the reports or the record have changed.
func (l *Labeler) rest(ctx context.Context, wait time.Duration) error {
	for ; wait > 0; wait -= glance {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(wait, glance)):
		}
		if reports, _ := l.look(); report.Print(reports) != l.reports || (l.Recorded != nil && l.Recorded() != l.recorded) {
			return nil
		}
	}
	return nil
}

// retry is the longest time until labels that could not be written, are not all there, or say
// that the node is not ready, are tried again: other programs wait for them.
const retry = 10 * time.Second

// Run takes a Step after each interval, and when the reports or the record change, until the
// context ends; with once, until labels are written.
func (l *Labeler) Run(ctx context.Context, interval time.Duration, once bool) error {
	for {
		outcome := l.Step(ctx)
		if once && outcome >= Partial {
			return nil
		}
		wait := interval
		if outcome == Unwritten || outcome == Partial {
			wait = min(interval, retry)
		}
		if err := l.rest(ctx, wait); err != nil {
			return err
		}
	}
}
