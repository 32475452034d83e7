// SPDX-License-Identifier: Apache-2.0

package labeler

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestRunOnce: readings that do not decide and writes that fail are repeated.
func TestRunOnce(t *testing.T) {
	results := []error{errors.New("permission denied"), label.ErrNoGPU, label.ErrNoGPU, label.ErrNoGPU, label.ErrNoGPU}
	var log bytes.Buffer
	var wrote []map[string]string
	l := Labeler{
		Read: func(context.Context) (gpu.Node, error) {
			err := results[0]
			results = results[1:]
			return gpu.Node{}, err
		},
		Write: func(_ context.Context, labels map[string]string, _ string) (bool, error) {
			if wrote = append(wrote, labels); len(wrote) == 1 {
				return false, errors.New("no API server")
			}
			return true, nil
		},
		Product: label.ProductManual, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	if err := l.Run(context.Background(), time.Nanosecond, true); err != nil {
		t.Fatal(err)
	}
	none := map[string]string{protocol.LabelInstalled: "false"}
	if diff := cmp.Diff([]map[string]string{none, none}, wrote); diff != "" || len(results) != 0 {
		t.Errorf("%d readings left: %s", len(results), diff)
	}
	for _, text := range []string{"permission denied", label.ErrNoGPU.Error(), "no API server"} {
		if n := strings.Count(log.String(), text); n != 1 {
			t.Errorf("the log has %q %d times:\n%s", text, n, log.String())
		}
	}
}

// TestPartial: the labels that need a recorded node are not awaited for a whole interval.
func TestPartial(t *testing.T) {
	n := simulated(t, "c500-8")
	l := Labeler{
		Read:    func(context.Context) (gpu.Node, error) { return n, nil },
		Write:   func(context.Context, map[string]string, string) (bool, error) { return true, nil },
		Product: label.ProductManual, Log: slog.New(slog.DiscardHandler),
	}
	if got := l.Step(context.Background()); got != Written {
		t.Errorf("recorded: outcome %d, want Written", got)
	}
	for i := range n.GPUs {
		n.GPUs[i].MemoryMiB = 0
	}
	if got := l.Step(context.Background()); got != Partial {
		t.Errorf("not recorded: outcome %d, want Partial", got)
	}
}

// TestRecordedMeanwhile: what metax-gpu-device records of a node is in its labels two seconds
// later.
func TestRecordedMeanwhile(t *testing.T) {
	n := simulated(t, "c500-8")
	dir := tree(t, n)
	host := simtest.Root(t, dir)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var wrote map[string]string
		var mu sync.Mutex // the race detector does not know that a sleep is an order
		l := Labeler{
			Read:     func(ctx context.Context) (gpu.Node, error) { return Host(ctx, dir) },
			Recorded: func() string { return Recorded(host) },
			Write: func(_ context.Context, labels map[string]string, _ string) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				wrote = labels
				return true, nil
			},
			Product: label.ProductManual, Log: slog.New(slog.DiscardHandler),
		}
		done := make(chan error)
		go func() { done <- l.Run(ctx, time.Minute, false) }()
		time.Sleep(time.Second)
		mu.Lock()
		if err := node.Record(host, n); err != nil || wrote == nil || wrote[protocol.LabelMemory] != "" {
			t.Errorf("%v, labels before it: %v", err, wrote)
		}
		mu.Unlock()
		time.Sleep(glance)
		synctest.Wait()
		mu.Lock()
		if wrote[protocol.LabelMemory] != "64GB" || wrote[label.LinkDomains] != "2" {
			t.Errorf("labels: %v", wrote)
		}
		mu.Unlock()
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestValidate has what validating comes to, and the labels that are written.
func TestValidate(t *testing.T) {
	n := simulated(t, "c500-8")
	for _, test := range []struct {
		ready   string
		err     error
		outcome Outcome
	}{
		{ready: "true", outcome: Written},
		{ready: "false", outcome: Partial},
		{err: errors.New("no API server"), outcome: Unwritten},
	} {
		var wrote map[string]string
		l := Labeler{
			Read: func(context.Context) (gpu.Node, error) { return n, nil },
			Validate: func(context.Context, gpu.Node) (map[string]string, error) {
				return map[string]string{protocol.LabelValidated: test.ready}, test.err
			},
			Write: func(_ context.Context, labels map[string]string, _ string) (bool, error) {
				wrote = labels
				return true, nil
			},
			Product: label.ProductManual, Log: slog.New(slog.DiscardHandler),
		}
		if got := l.Step(context.Background()); got != test.outcome || wrote[protocol.LabelValidated] != test.ready {
			t.Errorf("%+v: outcome %d, labels %v", test, got, wrote)
		}
	}
}

// TestReports: a report of an agent is written at once, and a driver is ready only if the
// agent says so too.
func TestReports(t *testing.T) {
	n := simulated(t, "c500-8")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ready := true
	var wrote []string
	l := Labeler{
		Read: func(context.Context) (gpu.Node, error) { return n, nil },
		Reports: func() (map[string]report.Report, []string) {
			return map[string]report.Report{report.Driver: {Ready: ready}, report.MACA: {Reason: "NoSpace"}}, []string{"a bad report"}
		},
		Write: func(_ context.Context, labels map[string]string, reports string) (bool, error) {
			wrote = append(wrote, labels[protocol.LabelDriverReady]+" "+labels["metax-tech.com/maca.reason"]+" "+reports)
			if len(wrote) == 3 {
				stop()
			}
			ready = !ready
			return true, nil
		},
		Product: label.ProductManual, Log: slog.New(slog.DiscardHandler),
	}
	if err := l.Run(ctx, time.Hour, false); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	const loaded = `true NoSpace {"driver":{"ready":true},"maca":{"ready":false,"reason":"NoSpace"}}`
	unloading := strings.ReplaceAll(loaded, "true", "false")
	if d := cmp.Diff([]string{loaded, unloading, loaded}, wrote); d != "" {
		t.Error(d)
	}
	n.Driver = nil
	for i := range n.GPUs {
		n.GPUs[i].Nodes = nil
	}
	ready, wrote = true, nil
	if l.Step(context.Background()); !strings.HasPrefix(wrote[0], "false ") {
		t.Errorf("an unloaded driver: %q", wrote)
	}
}

// TestReportsWithoutLabels: where the host cannot be read or validated, the reports are still
// written.
func TestReportsWithoutLabels(t *testing.T) {
	broken := errors.New("it cannot be read")
	for _, test := range []struct {
		what           string
		read, validate error
		outcome        Outcome
	}{{"the host", broken, nil, Undecided}, {"its validation", nil, broken, Unwritten}} {
		var wrote []string
		l := Labeler{
			Read:     func(context.Context) (gpu.Node, error) { return simulated(t, "c500-8"), test.read },
			Reports:  func() (map[string]report.Report, []string) { return map[string]report.Report{report.Driver: {}}, nil },
			Validate: func(context.Context, gpu.Node) (map[string]string, error) { return nil, test.validate },
			Write: func(_ context.Context, labels map[string]string, reports string) (bool, error) {
				if labels != nil {
					t.Errorf("%s: labels %v", test.what, labels)
				}
				wrote = append(wrote, reports)
				return true, nil
			},
			Product: label.ProductManual, Log: slog.New(slog.DiscardHandler),
		}
		if got := l.Step(context.Background()); got != test.outcome || len(wrote) != 1 || wrote[0] != `{"driver":{"ready":false}}` {
			t.Errorf("%s: outcome %d, reports %q", test.what, got, wrote)
		}
	}
}

// TestDriverHost has what is known of a node's driver, and whose it is.
func TestDriverHost(t *testing.T) {
	for _, test := range []struct {
		what       string
		ready      string
		mode       string // of the kernel's files
		report     *report.Report
		host, want string // the labels driver.host and gpu.driver.mode
	}{
		{"none", "false", "", nil, "false", ""},
		{"installed, not loaded", "false", "native", nil, "true", "native"},
		{"the host's", "true", "native", nil, "true", "native"},
		{"loaded, of unknown origin", "true", "", nil, "true", ""},
		{"from a container", "true", "cloud", nil, "false", "cloud"},
		{"being loaded", "false", "", &report.Report{Mode: "cloud"}, "false", "cloud"},
		{"ours in place of the host's", "true", "native", &report.Report{Ready: true, Mode: "cloud"}, "false", "cloud"},
		{"ours, of unknown origin", "true", "", &report.Report{Ready: true, Mode: "cloud"}, "false", "cloud"},
		{"ours, being unloaded", "false", "native", &report.Report{Mode: "cloud"}, "false", "cloud"},
		{"the host's, as the agent says", "true", "cloud", &report.Report{Ready: true, Mode: "native"}, "true", "native"},
		{"nothing said", "true", "native", &report.Report{Reason: "Unknown"}, "true", "native"},
	} {
		labels := map[string]string{protocol.LabelInstalled: "true", protocol.LabelDriverReady: test.ready}
		if test.mode != "" {
			labels[protocol.LabelDriverMode] = test.mode
		}
		reports := map[string]report.Report{}
		if test.report != nil {
			reports[report.Driver] = *test.report
		}
		addReports(labels, reports)
		if labels[protocol.LabelDriverHost] != test.host || labels[protocol.LabelDriverMode] != test.want {
			t.Errorf("%s: %v", test.what, labels)
		}
	}
	labels := map[string]string{protocol.LabelInstalled: "false"}
	if addReports(labels, nil); len(labels) != 1 {
		t.Errorf("without a GPU: %v", labels)
	}
}

// TestRunEnds: the end of the program is not an error of the host or of the API server.
func TestRunEnds(t *testing.T) {
	for _, during := range []string{"read", "write"} {
		t.Run(during, func(t *testing.T) {
			var log bytes.Buffer
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			end := func(now string) error {
				if now == during {
					stop()
				}
				return ctx.Err()
			}
			l := Labeler{
				Read:    func(context.Context) (gpu.Node, error) { return gpu.NewNode(""), end("read") },
				Write:   func(context.Context, map[string]string, string) (bool, error) { return false, end("write") },
				Product: label.ProductManual, Log: slog.New(slog.NewTextHandler(&log, nil)),
			}
			if err := l.Run(ctx, time.Hour, false); !errors.Is(err, context.Canceled) || log.Len() > 0 {
				t.Errorf("%v, log:\n%s", err, log.String())
			}
		})
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "features.d", "metax")
	for i, want := range []bool{true, false, true} {
		labels := map[string]string{protocol.LabelInstalled: "true", label.GPUCount: []string{"8", "8", "7"}[i]}
		if changed, err := File(path).Write(context.Background(), labels, ""); err != nil || changed != want {
			t.Fatalf("write %d: %t, %v", i, changed, err)
		}
	}
	if changed, err := File(path).Write(context.Background(), nil, "{}"); err != nil || changed {
		t.Fatalf("without labels: %t, %v", changed, err)
	}
	got := testfile.Read(t, path)
	if want := "metax-tech.com/gpu.count=7\nmetax-tech.com/gpu.installed=true\n"; string(got) != want {
		t.Errorf("file is %q", got)
	}
}
