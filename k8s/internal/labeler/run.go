package labeler

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Labeler reads a host again and again and writes its labels.
type Labeler struct {
	// Read returns the node; label.ErrNoGPU if it certainly has no GPU.
	Read    func(context.Context) (gpu.Node, error)
	Product label.ProductName
	// Write gives the node its labels, and reports whether that changed anything.
	Write func(ctx context.Context, labels map[string]string) (changed bool, err error)
	// Validate returns the labels that say whether a node can give GPUs to containers; nil does not look.
	Validate func(context.Context, gpu.Node) (map[string]string, error)
	Log      *slog.Logger

	state    label.State
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
	for _, w := range warnings {
		if !slices.Contains(l.warnings, w) {
			l.Log.Warn(w)
		}
	}
	l.warnings = warnings
	var labels map[string]string
	if l.state, labels = l.state.Next(found, err); labels == nil {
		return Undecided
	}
	if l.Validate != nil {
		more, err := l.Validate(ctx, n)
		if ctx.Err() != nil {
			return Unwritten
		}
		if err != nil {
			l.Log.Error("the node is not validated; trying again", "error", err)
			return Unwritten
		}
		maps.Copy(labels, more)
	}
	changed, err := l.Write(ctx, labels)
	switch {
	case ctx.Err() != nil:
		return Unwritten
	case err != nil:
		l.Log.Error("labels are not written; trying again", "error", err)
		return Unwritten
	case changed:
		l.Log.Info("labels written", "labels", labels)
	}
	if labels[protocol.LabelInstalled] == "true" && labels[protocol.LabelMemory] == "" || labels[protocol.LabelValidated] == "false" {
		return Partial
	}
	return Written
}

// retry is the longest time until labels that could not be written, are not all there, or say that the node is
// not ready, are tried again: other programs wait for them.
const retry = 10 * time.Second

// Run takes a Step after each interval until the context ends; with once, until labels
// are written.
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
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
