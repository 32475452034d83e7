// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"context"
	"log/slog"

	"k8s.io/klog/v2"
)

// TakeKlog makes what Kubernetes' libraries log by klog lines of the log that New made last.
// It is called once, before anything logs.
func TakeKlog() { klog.SetSlogLogger(slog.New(latest{})) }

// latest is the handler of slog's default logger at the time of a line.
type latest struct{}

func (latest) Enabled(ctx context.Context, l slog.Level) bool { return slog.Default().Enabled(ctx, l) }

func (latest) Handle(ctx context.Context, r slog.Record) error {
	return slog.Default().Handler().Handle(ctx, r)
}

func (latest) WithAttrs(attrs []slog.Attr) slog.Handler {
	return slog.Default().Handler().WithAttrs(attrs)
}

func (latest) WithGroup(name string) slog.Handler { return slog.Default().Handler().WithGroup(name) }
