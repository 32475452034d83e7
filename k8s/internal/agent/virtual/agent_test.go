// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// TestAgent follows an agent through steps: specs that cannot be written are a report, and are
// tried again; with nothing to say, the report goes.
func TestAgent(t *testing.T) {
	dir := t.TempDir()
	ready := report.Report{Ready: true, Message: "4 virtual functions"}
	ctx, stop := context.WithCancel(t.Context())
	steps, specs := 0, 0
	var seen []string
	a := Agent{
		Component: report.VF, Reports: dir, Log: slog.New(slog.DiscardHandler),
		Specs: func(context.Context) error {
			if specs++; specs == 1 {
				return errors.New("no UUIDs")
			}
			return nil
		},
		Step: func(context.Context) (report.Report, bool) {
			text, _ := os.ReadFile(filepath.Join(dir, "vf.json"))
			seen = append(seen, string(text))
			switch steps++; {
			case steps < 4:
				return ready, true
			case steps == 5, steps == 7:
				stop()
			}
			return report.Report{}, false
		},
	}
	if err := a.Run(ctx, time.Millisecond); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for i, want := range []string{"", "the CDI specs are not up to date: no UUIDs", "4 virtual functions", "4 virtual functions", ""} {
		if got := seen[i]; want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("before step %d: %q, want %q", i+1, got, want)
		}
	}
	if specs != 3 {
		t.Errorf("the specs are written %d times, want 3", specs)
	}
	// The next agent finds nothing to say in its first step, which may have undone what the
	// one before made.
	if _, err := report.Write(dir, report.VF, ready); err != nil {
		t.Fatal(err)
	}
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	if err := a.Run(ctx, time.Millisecond); !errors.Is(err, context.Canceled) || specs != 4 {
		t.Errorf("%v: the specs are written %d times, want 4", err, specs)
	}
}
