// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestReport has the text and the JSON of a node with several problems: errors first,
// each group in the order of the checks.
func TestReport(t *testing.T) {
	t.Parallel()
	b := newBench(t, "c500-8")
	b.engine("dockerd", "28.1.1")
	b.drop("dev/char/511:0", "dev/char/226:128")
	b.tree["proc/sys/kernel/osrelease"] = sim.File{Data: "4.18.0\n"}
	b.write()
	b.must(os.Chmod(b.path(gpuSpec), 0o600))
	b.put("/etc/cdi/odd.json", "{\x1b[2J")
	f := b.collect()
	f.System.MissingCalls = []string{"mount_setattr"}
	report := NewReport(Checks(), f)
	if report.Healthy || !report.Has("kernel") || report.Has("numa") {
		t.Errorf("%+v", report)
	}
	place := strings.NewReplacer(b.dir, "DIR", filepath.Dir(b.c.Self), "BIN")
	golden.Equal(t, "testdata/report.txt", place.Replace(report.Text()))
	if len(report.Results) != len(Checks()) {
		t.Errorf("%d results of %d checks", len(report.Results), len(Checks()))
	}
	report.Results = nil // as without --verbose
	doc, err := json.MarshalIndent(report, "", "  ")
	b.must(err)
	golden.Equal(t, "testdata/report.json", place.Replace(string(doc))+"\n")
}

// TestInfoIsHealthy: a node with only infos is healthy.
func TestInfoIsHealthy(t *testing.T) {
	info := []Check{{"x", "x", nil, func(_ *Facts, found *findings) { found.add(Info, "w", "y", "f") }}}
	if r := NewReport(info, &Facts{}); !r.Healthy || len(r.Findings) != 1 {
		t.Errorf("%+v", r)
	}
	if r := NewReport(nil, &Facts{}); !r.Healthy || r.Findings == nil {
		t.Errorf("%+v", r)
	}
}

// TestSkipped: a check without facts, or about what is not there, is neither ok nor
// broken, and what is there is checked.
func TestSkipped(t *testing.T) {
	t.Parallel()
	results := func(f *Facts) map[string]string {
		got := map[string]string{}
		for _, r := range NewReport(Checks(), f).Results {
			got[r.Check] = r.Result
		}
		return got
	}
	want := func(name string, got map[string]string, want map[string]string) {
		t.Helper()
		for id, result := range want {
			if got[id] != result {
				t.Errorf("%s: %s is %q, want %q", name, id, got[id], result)
			}
		}
	}
	// Nothing was collected.
	var f Facts
	for _, c := range slices.Concat(firstRound, secondRound) {
		f.Troubles = append(f.Troubles, Trouble{c.name, "made to fail"})
	}
	for id, result := range results(&f) {
		if result == "ok" {
			t.Errorf("nothing collected: %s is ok", id)
		}
	}
	collect := func(change func(*bench)) *Facts {
		b := newBench(t, "c500-8")
		change(b)
		b.write()
		f, err := Collect(context.Background(), b.c)
		b.must(err)
		return f
	}
	whole := results(collect(func(*bench) {}))
	want("healthy", whole, map[string]string{
		"driver-loaded": "ok", "docker-answers": "ok", "gpu-health": "ok", "mx-smi-answers": "ok", "spec-drift": "ok", "lease-state": "ok", "programs": "ok",
		"iommu": "skipped", "slices": "skipped", "image": "skipped", "image-driver": "skipped", "hook-program": "skipped", "libmxsml-answers": "skipped",
	})
	bare := results(collect(func(b *bench) {
		unloadDriver(b)
		b.engine("dockerd", "")
		b.info = nil
	}))
	want("no driver, no docker", bare, map[string]string{
		"gpu-present": "ok", "driver-loaded": "error", "driver-bound": "skipped", "drm-minors": "skipped", "mxcd": "skipped", "gpu-health": "skipped",
		"docker-version": "skipped", "docker-config": "skipped", "docker-answers": "skipped", "docker-cdi": "skipped", "podman-version": "ok",
	})
	none := results(collect(func(b *bench) { b.drop("sys/bus/pci/devices"); b.tree["sys/bus/pci/devices"] = sim.Dir{} }))
	want("no GPU", none, map[string]string{"gpu-present": "error", "driver-loaded": "skipped", "gpu-alive": "skipped", "docker-answers": "ok"})
}

// TestPrintable: the name of a file or the output of a program cannot control the
// terminal.
func TestPrintable(t *testing.T) {
	odd := []Check{{"x", "x", nil, func(_ *Facts, found *findings) { found.add(Error, "a\x1b[2J", "b\r", "c\u202e\nd") }}}
	got := Judge(odd, &Facts{})[0]
	if d := cmp.Diff([]string{"a\ufffd[2J", "b\ufffd", "c\ufffd\nd"}, []string{got.What, got.Why, got.Fix}); d != "" {
		t.Error(d)
	}
}

// TestFixes writes the commands of metax-ctk in findings to a file; the tests of
// metax-ctk check that it accepts them.
func TestFixes(t *testing.T) {
	var all []string
	for _, tc := range brokenNodes {
		for _, part := range strings.FieldsFunc(strings.NewReplacer(" && ", ";", "   # ", ";").Replace(tc.fix), func(r rune) bool { return r == ';' || r == '\n' || r == ',' }) {
			if i := strings.Index(part, "metax-ctk "); i >= 0 {
				all = append(all, strings.TrimSpace(part[i:]))
			}
		}
	}
	slices.Sort(all)
	golden.Equal(t, "testdata/commands.txt", strings.Join(slices.Compact(all), "\n")+"\n")
}

// TestChoose parses the lists of --check and --skip.
func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		check, skip []string
		want        []string
		err         bool
	}{
		{check: []string{"mxcd,numa", "kernel"}, want: []string{"numa", "mxcd", "kernel"}},
		{check: []string{"mxcd", "numa"}, skip: []string{"mxcd"}, want: []string{"numa"}},
		{check: []string{"mxcd,"}, err: true},
		{skip: []string{"MXCD"}, err: true},
	} {
		checks, err := Choose(tc.check, tc.skip)
		var got []string
		for _, c := range checks {
			got = append(got, c.ID)
		}
		if errors.Is(err, ErrUnknown) != tc.err || !slices.Equal(got, tc.want) {
			t.Errorf("%v %v: %v, %v", tc.check, tc.skip, got, err)
		}
	}
	if all, err := Choose(nil, nil); err != nil || len(all) != len(Checks()) {
		t.Errorf("%d, %v", len(all), err)
	}
}

// TestCollectorThatHangs: the other collectors go on, and the one that hangs is a
// finding.
func TestCollectorThatHangs(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	round := []collector{
		{"what hangs", func(context.Context, Config, *Facts) (func(*Facts), error) { <-hold; return nil, nil }},
		{"what fails", func(context.Context, Config, *Facts) (func(*Facts), error) {
			return func(f *Facts) { f.System.Kernel = "half" }, errors.New("by half")
		}},
		{"what works", func(context.Context, Config, *Facts) (func(*Facts), error) {
			return func(f *Facts) { f.Root = "/x" }, nil
		}},
	}
	var f Facts
	runRound(context.Background(), time.Second, 0, Config{}, &f, round)
	want := []Trouble{{"what hangs", "no answer within 1s"}, {"what fails", "by half"}}
	if d := cmp.Diff(want, f.Troubles); d != "" || f.Root != "/x" || f.System.Kernel != "half" {
		t.Errorf("%s\n%+v", d, f)
	}
}

// TestSteps does every kind of step, twice, and prints it as a shell command.
func TestSteps(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a file")
	testfile.Write(t, file, "", 0o600)
	link, made := filepath.Join(dir, "link"), filepath.Join(dir, "x/y")
	var ran []string
	toolkit := func(_ context.Context, args []string) error { ran = append(ran, strings.Join(args, " ")); return nil }
	for _, tc := range []struct {
		step Step
		want string
	}{
		{Step{Toolkit: []string{"--root", "/it's", "ps"}}, `metax-ctk --root '/it'\''s' ps`},
		{Step{Directory: made}, "mkdir -p " + made},
		{Step{Link: link, Target: "../mxcd"}, "ln -s ../mxcd " + link},
		{Step{Chmod: file, Mode: 0o644}, "chmod 0644 '" + file + "'"},
	} {
		if got := tc.step.String(); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
		for range 2 {
			if err := tc.step.Do(context.Background(), toolkit); err != nil {
				t.Errorf("%s: %v", tc.want, err)
			}
		}
	}
	info, err := os.Stat(file)
	at, failed := os.Readlink(link)
	if dir, none := os.Stat(made); err != nil || info.Mode() != 0o644 || failed != nil || at != "../mxcd" || none != nil || !dir.IsDir() || len(ran) != 2 {
		t.Errorf("%v %v %v %v %v", info.Mode(), at, failed, none, ran)
	}
	// What stands there already stays.
	if err := (Step{Link: link, Target: "other"}).Do(context.Background(), toolkit); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v", err)
	}
}

// TestSafeSteps: the steps of --fix fix what was found. Steps that are commands of
// metax-ctk are tested there.
func TestSafeSteps(t *testing.T) {
	tried := 0
	for _, tc := range brokenNodes {
		if !slices.Contains([]string{"spec-dirs", "spec-readable", "char-links"}, tc.check) || tc.name != "" {
			continue
		}
		t.Run(tc.check, func(t *testing.T) {
			b := newBench(t, "c500-8")
			if tc.tree != nil {
				tc.tree(b)
			}
			b.write()
			if tc.host != nil {
				tc.host(b)
			}
			for _, f := range b.findings() {
				for _, s := range f.Steps() {
					tried++
					b.must(s.Do(context.Background(), nil))
				}
			}
			if left := b.findings(); len(left) > 0 {
				t.Errorf("%v", left)
			}
		})
	}
	if tried < 3 {
		t.Errorf("only %d steps", tried)
	}
}
