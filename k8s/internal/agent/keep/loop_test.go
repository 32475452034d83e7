// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// TestRun logs what is new alone, Ready too; a report that was not written is tried again.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	failures := 0
	files := Files(dir, report.VF)
	l := Loop{
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if slices.Contains([]string{slog.TimeKey, slog.LevelKey}, a.Key) || a.Value.String() == "" {
				return slog.Attr{}
			}
			return a
		}})),
		Interval: time.Nanosecond,
		Write: func(r report.Report, ok bool) error {
			if r.Reason == "A" && failures == 0 {
				failures++
				return errors.New("no space")
			}
			return files(r, ok)
		},
	}
	looks := []struct {
		report.Report
		ok bool
	}{{report.Report{Reason: "A"}, true}, {report.Report{Reason: "A"}, true}, {report.Report{Reason: "A"}, true}, {report.Report{Ready: true, Reason: "A"}, true}, {report.Report{}, false}}
	ctx, stop := context.WithCancel(t.Context())
	at := 0
	last := l.Run(ctx, func(context.Context) (report.Report, bool) {
		if at == len(looks) {
			stop()
			return report.Report{Reason: "Cut"}, true
		}
		at++
		return looks[at-1].Report, looks[at-1].ok
	})
	want := []string{
		`msg="the report is not written; trying again" error="no space"`, "msg=reported ready=false reason=A", "msg=reported ready=true reason=A", "msg=reported ready=false", "",
	}
	if diff := cmp.Diff(want, strings.Split(log.String(), "\n")); diff != "" {
		t.Error(diff)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 || last != (report.Report{}) {
		t.Errorf("%v %v %v", list, err, last)
	}
}

// TestWhole: a look that has begun goes on, and is reported.
func TestWhole(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var said []report.Report
	l := Loop{Log: slog.New(slog.DiscardHandler), Whole: true, Interval: time.Hour, Write: func(r report.Report, _ bool) error {
		said = append(said, r)
		return nil
	}}
	last := l.Run(ctx, func(ctx context.Context) (report.Report, bool) {
		stop()
		return report.Report{Ready: ctx.Err() == nil}, true
	})
	if !last.Ready || len(said) != 1 || !said[0].Ready {
		t.Errorf("%+v, said %+v", last, said)
	}
}
