// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// written are the GPUs in the only file of the directory.
func written(t *testing.T, dir string) (gpus []foreign.KoordletGPU) {
	t.Helper()
	var files []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			files = append(files, e.Name())
		}
	}
	if diff := cmp.Diff([]string{"metax-gpu-device.json"}, files); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	text := testfile.Read(t, filepath.Join(dir, files[0]))
	if err := json.Unmarshal(text, &gpus); err != nil {
		t.Fatal(err)
	}
	return gpus
}

// summary is a line for each GPU: its minor, how many links it has, and its status.
func summary(gpus []foreign.KoordletGPU) (lines []string) {
	for _, g := range gpus {
		words := []string{g.Minor, strings.Repeat("+", len(g.Topology.P2PLinks))}
		if !g.Status.Healthy {
			words = append(words, g.Status.ErrCode+": "+g.Status.ErrMessage)
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

func TestKoordlet(t *testing.T) {
	for name, c := range map[string]struct {
		node   string
		change func(*Facts)
		want   []string
	}{
		"healthy":           {"c500-4-degraded", func(*Facts) {}, []string{"0 +++", "1 ++++", "2 ++++", "3 +++"}},
		"in use":            {"c500-4-degraded", func(f *Facts) { f.InUse = []int{1} }, []string{"0 +++", "1 ++++", "2 ++++", "3 +++"}},
		"outside":           {"c500-4-degraded", func(f *Facts) { f.Outside = []int{1} }, []string{"0 +++", "1 ++++ InUse: it is in use outside Kubernetes", "2 ++++", "3 +++"}},
		"excluded":          {"c500-4-degraded", func(f *Facts) { f.State.GPUs = f.State.GPUs[1:] }, []string{"1 ++++", "2 ++++", "3 +++"}},
		"no UUID":           {"c500-4-degraded", func(f *Facts) { f.Node.GPUs[3].UUID = "" }, []string{"0 +++", "1 ++++", "2 ++++"}},
		"virtual functions": {"c500-4-degraded", func(f *Facts) { f.Node.GPUs[3].VFs = []gpu.BDF{{Bus: 9}} }, []string{"0 +++", "1 ++++", "2 ++++"}},
		"unhealthy": {"c500-4-degraded", func(f *Facts) {
			f.State.GPUs[2].Health, f.State.GPUs[2].Code, f.State.GPUs[2].Reason = health.Unhealthy, health.NoDeviceNodes, "its device nodes are gone"
		}, []string{"0 +++", "1 ++++", "2 ++++ NoDeviceNodes: its device nodes are gone", "3 +++"}},
		"the first has no links": {"c500-4-degraded", func(f *Facts) {
			f.Node.Links = slices.DeleteFunc(f.Node.Links, func(l gpu.Link) bool { return l.A == 0 })
			for i := range f.Node.GPUs {
				f.Node.GPUs[i].PCIePath, f.Node.GPUs[i].PCIeSwitch = nil, nil
			}
		}, []string{"1 ++", "2 ++", "3 ++", "0 "}},
		"no GPU": {"c500-4-degraded", func(f *Facts) { f.Node.GPUs, f.Node.Links = nil, nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := facts(t, c.node)
			c.change(&f)
			k := Koordlet{Dir: filepath.Join(t.TempDir(), "x", "infos"), Log: slog.New(slog.DiscardHandler)}
			k.Set(f)
			if diff := cmp.Diff(c.want, summary(written(t, k.Dir))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestKoordletMissing: a GPU that falls off the bus does not change the minors of others, and
// the links of the others name these.
func TestKoordletMissing(t *testing.T) {
	f, _ := facts(t, "c500-8")
	k := Koordlet{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	k.Set(f)
	before := written(t, k.Dir)
	n := f.Node
	n.GPUs, n.Links = slices.Delete(slices.Clone(n.GPUs), 1, 2), nil
	for i := range n.GPUs {
		n.GPUs[i].Index = i
	}
	for _, l := range f.Node.Links {
		if l.A != 1 && l.B != 1 {
			for _, end := range []*int{&l.A, &l.B} {
				if *end > 1 {
					*end--
				}
			}
			n.Links = append(n.Links, l)
		}
	}
	f.State, _ = f.State.Next(health.FromNode(n), health.DefaultRules)
	f.Node = n
	k.Set(f)
	after := written(t, k.Dir)
	if len(after) != 7 {
		t.Fatalf("%d GPUs", len(after))
	}
	for i, g := range after {
		was := before[min(i, 1)*(i+1)]
		if g.UUID != was.UUID || g.Minor != was.Minor {
			t.Errorf("%s was minor %s and is %s", g.UUID, was.Minor, g.Minor)
		}
	}
	if got := after[0].Topology.P2PLinks[0].PeerMinor; got != "2" {
		t.Errorf("the first peer of GPU 0 is %s", got)
	}
	if diff := cmp.Diff(before[4:], after[3:]); diff != "" {
		t.Errorf("the other domain:\n%s", diff)
	}
}

// TestKoordletFile: the file is complete at any time, is not written again if nothing changed,
// and an error is logged once and tried again.
func TestKoordletFile(t *testing.T) {
	f, _ := facts(t, "c500-8")
	var log bytes.Buffer
	dir := t.TempDir()
	k := Koordlet{Dir: filepath.Join(dir, "infos"), Log: slog.New(slog.NewTextHandler(&log, nil))}
	testfile.Write(t, k.Dir, "", 0o600)
	k.Set(f)
	k.Set(f)
	if strings.Count(log.String(), "trying again") != 1 {
		t.Errorf("log: %s", log.String())
	}
	if err := os.Remove(k.Dir); err != nil {
		t.Fatal(err)
	}
	k.Set(f)
	path := filepath.Join(k.Dir, "metax-gpu-device.json")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f.State.Generation++
	k.Set(f)
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("%v: it was written again", err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				written(t, k.Dir)
			}
		}
	}()
	for i := range 50 {
		f.Outside = []int{i % 8}
		k.Set(f)
	}
	close(stop)
	<-done
}

// TestKoordletLeft: what a killed writer left goes; the file of another that is writing stays.
func TestKoordletLeft(t *testing.T) {
	dir := t.TempDir()
	temporary := filepath.Join(dir, foreign.KoordletTemporary)
	left, fresh := filepath.Join(temporary, "."+foreign.KoordletFile+".1.tmp"), filepath.Join(temporary, "."+foreign.KoordletFile+".2.tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, age := range map[string]time.Duration{left: time.Hour, fresh: 0} {
		testfile.Write(t, path, "", 0o600)
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	f, _ := facts(t, "c500-8")
	(&Koordlet{Dir: dir, Log: slog.New(slog.DiscardHandler)}).Set(f)
	if _, err := os.Stat(left); err == nil {
		t.Error("the file that a killed writer left is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error(err)
	}
}
