// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/keep"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// Agent takes steps again and again, and writes what they report.
type Agent struct {
	Component string // of the report
	Reports   string // directory of the reports
	Step      func(context.Context) (r report.Report, ok bool)
	// Specs brings the CDI specs up to date, by which containers get virtual functions. It is
	// called when what a step reports is new.
	Specs func(context.Context) error
	Log   *slog.Logger
}

// Run takes a step after each interval until the context ends.
func (a Agent) Run(ctx context.Context, interval time.Duration) error {
	said := report.Report{}
	if _, err := os.Lstat(filepath.Join(a.Reports, a.Component+".json")); err == nil {
		said.Reason = "an agent before this one reported" // the specs may be those of then
	}
	loop := keep.Loop{Write: keep.Files(a.Reports, a.Component), Log: a.Log, Interval: interval}
	loop.Run(ctx, func(ctx context.Context) (report.Report, bool) {
		r, ok := a.Step(ctx)
		if !ok {
			r = report.Report{}
		}
		if r != said && ctx.Err() == nil {
			if err := a.Specs(ctx); err != nil {
				r, ok = report.Report{Reason: StaleSpec, Message: fmt.Sprintf("the CDI specs are not up to date: %v", err)}, true
			}
		}
		said = r
		return r, ok
	})
	return ctx.Err()
}

// ReadConfig returns the data of a ConfigMap that is mounted at a directory; nothing if it
// does not exist.
func ReadConfig(dir string) (map[string]string, error) {
	const most = 2 << 20 // more than a ConfigMap can have
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer root.Close()
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	data := map[string]string{}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "..") {
			continue // the kubelet's own
		}
		file, err := root.Open(e.Name())
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(file, most))
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Name(), err)
		}
		data[e.Name()] = string(text)
	}
	return data, nil
}
