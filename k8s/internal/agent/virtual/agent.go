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

	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// Agent takes steps again and again, and writes what they report.
type Agent struct {
	Component string // of the report
	Reports   string // directory of the reports
	Step      func(context.Context) (r report.Report, ok bool)
	// Specs brings the CDI specs up to date, by which containers get virtual functions. It is called when what a
	// step reports is new.
	Specs func(context.Context) error
	Log   *slog.Logger
}

// Run takes a step after each interval until the context ends.
func (a Agent) Run(ctx context.Context, interval time.Duration) error {
	said := report.Report{}
	if _, err := os.Lstat(filepath.Join(a.Reports, a.Component+".json")); err == nil {
		said.Reason = "an agent before this one reported" // the specs may be those of then
	}
	for {
		r, ok := a.Step(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !ok {
			r = report.Report{}
		}
		var stale error
		if r != said {
			if stale = a.Specs(ctx); stale != nil {
				r = report.Report{Reason: StaleSpec, Message: fmt.Sprintf("the CDI specs are not up to date: %v", stale)}
			}
		}
		if err := a.tell(r, ok || stale != nil); err != nil {
			a.Log.Error("the report is not written; trying again", "error", err)
		} else if r != said {
			a.Log.Info("reported", "ready", r.Ready, "reason", r.Reason, "message", r.Message)
			said = r
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(interval):
		}
	}
}

func (a Agent) tell(r report.Report, ok bool) error {
	if !ok {
		return report.Remove(a.Reports, a.Component)
	}
	_, err := report.Write(a.Reports, a.Component, r)
	return err
}

// ReadConfig returns the data of a ConfigMap that is mounted at a directory; nothing if it does not exist.
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
