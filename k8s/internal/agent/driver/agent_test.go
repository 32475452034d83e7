// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/agent/keep"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// scene is a simulated host with an agent. die is asked before and after everything that the
// agent does to the host; if it answers true, the agent ends there as if it was killed.
type scene struct {
	t       *testing.T
	host    *hostfs.Root
	payload string
	record  string
	prefer  bool
	users   Users
	refuse  error // what the loader says
	reports []report.Report
	die     func(point string) bool
	unloads int
	loads   int
	now     time.Time
}

// killed ends an agent.
type killed string

func (s *scene) at(point string) {
	if s.die != nil && s.die(point) {
		panic(killed(point))
	}
}

// newScene is a host whose own driver is not loaded.
func newScene(t *testing.T, version string) *scene {
	_, tree := simtest.Host(t, "c500-1")
	s := &scene{t: t, host: simtest.Write(t, tree), record: filepath.Join(t.TempDir(), "driver.json")}
	must(t, Simulation{s.host}.Unload())
	must(t, os.RemoveAll(s.host.Join("/opt/mxdriver")))
	s.payload = collected(t, image(t, version, nil))
	return s
}

func (s *scene) Load(ctx context.Context, payload string, m Module) error {
	s.at("before load")
	s.loads++
	if s.refuse != nil {
		return os.NewSyscallError("finit_module", s.refuse)
	}
	err := Simulation{s.host}.Load(ctx, payload, m)
	s.at("after load")
	return err
}

func (s *scene) Unload() error {
	s.at("before unload")
	if len(s.reports) == 0 || s.reports[len(s.reports)-1].Ready {
		s.t.Error("the driver is unloaded while it is reported as ready")
	}
	s.unloads++
	err := Simulation{s.host}.Unload()
	s.at("after unload")
	return err
}

func (s *scene) agent() *Agent {
	return &Agent{
		Host: s.host, Payload: s.payload, Record: s.record, PreferHost: s.prefer, Loader: s,
		Users: func(context.Context) Users { return s.users },
		Loop: keep.Loop{Whole: true, Interval: time.Hour, Log: slog.New(slog.DiscardHandler), Write: func(r report.Report, _ bool) error {
			s.at("before report " + r.Reason)
			s.reports = append(s.reports, r)
			s.at("after report " + r.Reason)
			return nil
		}},
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return s.now },
	}
}

// looks lets an agent look n times, and returns its last report. An agent that is killed stays
// dead.
func (s *scene) looks(a *Agent, n int) (r report.Report) {
	defer func() {
		if died := recover(); died != nil {
			if _, ok := died.(killed); !ok {
				panic(died)
			}
		}
	}()
	for range n {
		r = a.Look(s.t.Context())
		if err := a.say(r); err != nil {
			s.t.Fatal(err)
		}
	}
	return r
}

// check demands that the driver of a version is loaded, with its files.
func (s *scene) check(version string) {
	s.t.Helper()
	text, err := s.host.ReadFile("/sys/module/metax/version")
	if err != nil || strings.TrimSpace(string(text)) != version {
		s.t.Errorf("the driver %q is loaded (%v), want %s", text, err, version)
	}
	smi, err := s.host.ReadFile("/opt/mxdriver/share/mx-smi/node.txt")
	if err != nil || !strings.Contains(string(smi), version) {
		s.t.Errorf("/opt/mxdriver is not that of %s: %v", version, err)
	}
	names, err := s.host.ReadDir("/opt")
	must(s.t, err)
	if got := strings.Join(names, " "); strings.Count(got, "mxdriver-") != 1 || strings.Contains(got, part) || strings.Contains(got, ".link") {
		s.t.Errorf("/opt has %s", got)
	}
}

// TestLife takes a node through a load, an upgrade, a boot and a driver of the host.
func TestLife(t *testing.T) {
	s := newScene(t, "4.0.0")
	if got := said(s.looks(s.agent(), 1)); got != "cloud ready" {
		t.Errorf("after the load: %s", got)
	}
	s.check("4.0.0")
	if got := said(s.looks(s.agent(), 2)); got != "cloud ready" || s.unloads > 0 {
		t.Errorf("after a restart: %s", got)
	}

	// An upgrade: announced, then blocked by users, then done.
	s.payload = collected(t, image(t, "5.0.0", nil))
	s.users = Users{Plugin: []string{"metax-gpu-device"}, Pods: []string{"pod team/job"}}
	a := s.agent()
	if r := s.looks(a, 3); said(r) != "cloud InUse" || !strings.Contains(r.Message, "pod team/job") || s.unloads > 0 {
		t.Errorf("in use: %+v", r)
	}
	if text, err := s.host.ReadFile("/opt/mxdriver/share/mx-smi/node.txt"); err != nil || !strings.Contains(string(text), "4.0.0") {
		t.Errorf("/opt/mxdriver is not that of the loaded driver: %v", err)
	}
	s.users = Users{Plugin: []string{"metax-gpu-device"}}
	if r := s.looks(a, 1); said(r) != "cloud Unloading" || s.unloads > 0 {
		t.Errorf("while the plugin leaves: %+v", r)
	}
	s.users = Users{}
	must(t, Simulation{s.host}.Use(1)) // which came a moment later
	if r := s.looks(a, 1); said(r) != "cloud InUse" {
		t.Errorf("while the kernel counts a user: %+v", r)
	}
	must(t, Simulation{s.host}.Use(0))
	if r := s.looks(a, 1); said(r) != "cloud ready" || r.Version != "5.0.0" {
		t.Errorf("after the upgrade: %+v", r)
	}
	s.check("5.0.0")

	// A payload without a module for the kernel leaves the driver.
	s.payload = collected(t, image(t, "6.0.0", func(dir string) {
		put(t, dir, "lib/modules/"+release+"/updates/metax.ko", string(sim.Module("7.0", "6.0.0")))
	}))
	if r := s.looks(s.agent(), 2); said(r) != "cloud ready NoModule" || r.Version != "5.0.0" {
		t.Errorf("without a module: %+v", r)
	}
	s.check("5.0.0")

	// A boot: the module is gone, and the record below /run.
	must(t, Simulation{s.host}.Unload())
	must(t, os.Remove(s.record))
	s.payload = collected(t, image(t, "5.0.0", nil))
	if got := said(s.looks(s.agent(), 1)); got != "cloud ready" {
		t.Errorf("after a boot: %s", got)
	}
	s.check("5.0.0")
}

// TestHost has a host with a driver of its own.
func TestHost(t *testing.T) {
	s := newScene(t, "4.0.0")
	must(t, Simulation{s.host}.Load(t.Context(), "", Module{Version: "3.4.4"}))
	put(t, s.host.Dir(), "opt/mxdriver/bin/own", "x")
	s.prefer = true
	if r := s.looks(s.agent(), 2); said(r) != "native ready Host" || r.Version != "3.4.4" {
		t.Errorf("preferred: %+v", r)
	}
	s.prefer, s.users = false, Users{Processes: []string{"process 7 (python)"}}
	if r := s.looks(s.agent(), 2); said(r) != "cloud InUse" || !strings.Contains(r.Message, "process 7 (python)") || s.unloads > 0 {
		t.Errorf("in use: %+v", r)
	}
	s.users = Users{}
	if r := s.looks(s.agent(), 2); said(r) != "cloud ready" || r.Version != "4.0.0" {
		t.Errorf("replaced: %+v", r)
	}
	s.check("4.0.0")
	if !s.host.Exists("/opt/mxdriver.host/bin/own") {
		t.Error("the host's own files are gone")
	}

	// A boot: the host's driver is loaded again, and preferred. Its files come back, also
	// after a kill.
	must(t, os.Remove(s.record))
	if r := s.looks(s.agent(), 1); said(r) != "native ready Host" || s.host.Exists("/opt/mxdriver/bin/own") { // the payload's files fit it
		t.Errorf("the payload's driver without a record: %+v", r)
	}
	must(t, Simulation{s.host}.Unload())
	must(t, Simulation{s.host}.Load(t.Context(), "", Module{Version: "3.4.4"}))
	s.prefer = true
	for _, what := range []string{"", "killed after the link was removed", "again"} {
		if r := s.looks(s.agent(), 1); said(r) != "native ready Host" || strings.Contains(r.Message, "stay") || !s.host.Exists("/opt/mxdriver/bin/own") {
			t.Errorf("%s: %+v", what, r)
		}
		if what == "" {
			must(t, os.Rename(s.host.Join("/opt/mxdriver"), s.host.Join("/opt/mxdriver.host")))
		}
	}

	// A boot with a kernel that the payload has no module for.
	s.prefer = false
	must(t, os.Rename(s.host.Join("/opt/mxdriver"), s.host.Join("/opt/mxdriver.host")))
	put(t, s.host.Dir(), "proc/sys/kernel/osrelease", "9.9")
	if r := s.looks(s.agent(), 1); said(r) != "native ready NoModule" || !s.host.Exists("/opt/mxdriver/bin/own") {
		t.Errorf("another kernel: %+v", r)
	}
}

// TestKill kills the agent once at each point of an upgrade. Another one then ends it.
func TestKill(t *testing.T) {
	points := map[string]bool{}
	for _, point := range []string{
		"", "before report Unloading", "after report Unloading", "before unload", "after unload",
		"before report Loading", "after report Loading", "before load", "after load", "before report ", "after report ",
	} {
		s := newScene(t, "4.0.0")
		s.looks(s.agent(), 1)
		s.payload = collected(t, image(t, "5.0.0", nil))
		dead := false
		s.die = func(at string) bool {
			points[at] = true
			dead = dead || at == point
			return at == point
		}
		s.looks(s.agent(), 2)
		if dead != (point != "") {
			t.Errorf("the point %q is not reached", point)
		}
		s.die = nil
		if r := s.looks(s.agent(), 2); said(r) != "cloud ready" || r.Version != "5.0.0" {
			t.Errorf("killed %s: %+v", point, r)
		}
		s.check("5.0.0")
	}
	if len(points) != 10 {
		t.Errorf("an upgrade has the points %v", points)
	}
}

// TestHalfWritten has what a kill can leave of the files in /opt.
func TestHalfWritten(t *testing.T) {
	for what, leave := range map[string]func(s *scene, id string){
		"a part": func(s *scene, id string) { put(t, s.host.Dir(), "opt/mxdriver-"+id+".part/bin/mx-smi", "half") },
		"no link": func(s *scene, id string) {
			must(t, installHome(s.host, s.payload, id))
			must(t, os.Remove(s.host.Join("/opt/mxdriver")))
		},
		"the next link":       func(s *scene, id string) { must(t, os.Symlink("x", s.host.Join("/opt/mxdriver-"+id+".link"))) },
		"the host's, moved":   func(s *scene, _ string) { put(t, s.host.Dir(), "opt/mxdriver.host/bin/own", "x") },
		"a part of another":   func(s *scene, _ string) { put(t, s.host.Dir(), "opt/mxdriver-0123456789abcdef.part/x", "x") },
		"an empty directory":  func(s *scene, _ string) { must(t, os.Mkdir(s.host.Join("/opt/mxdriver"), 0o755)) },
		"a link to elsewhere": func(s *scene, _ string) { must(t, os.Symlink("/usr", s.host.Join("/opt/mxdriver"))) },
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t, "4.0.0")
			p, err := Read(s.payload)
			must(t, err)
			leave(s, p.ID)
			if r := s.looks(s.agent(), 1); said(r) != "cloud ready" {
				t.Errorf("%+v", r)
			}
			s.check("4.0.0")
		})
	}
	s := newScene(t, "4.0.0")
	put(t, s.host.Dir(), "opt/mxdriver.host/x", "x")
	put(t, s.host.Dir(), "opt/mxdriver/x", "x")
	if r := s.looks(s.agent(), 1); said(r) != "cloud FilesFailed" || !strings.Contains(r.Message, "remove one") {
		t.Errorf("two drivers of the host: %+v", r)
	}
}

// TestRefused has what the kernel says to a module, and that it is tried again after a time.
func TestRefused(t *testing.T) {
	s := newScene(t, "4.0.0")
	a := s.agent()
	for err, want := range map[error]string{
		unix.EKEYREJECTED: "cloud SignatureRefused", unix.ENOEXEC: "cloud LoadFailed", errors.New("no memory"): "cloud LoadFailed",
	} {
		s.refuse = err
		s.now = s.now.Add(report.Patience)
		if r := s.looks(a, 2); said(r) != want || !strings.Contains(r.Message, "driver 4.0.0 of the payload is not loaded: finit_module: "+err.Error()) {
			t.Errorf("%v: %+v", err, r)
		}
	}
	if s.loads != 3 {
		t.Errorf("the module was loaded %d times in 6 looks, want 3", s.loads)
	}
	s.refuse = nil
	if r := s.looks(a, 1); said(r) == "cloud ready" {
		t.Errorf("tried again at once: %+v", r)
	}
	s.now = s.now.Add(report.Patience)
	if r := s.looks(a, 1); said(r) != "cloud ready" {
		t.Errorf("%+v", r)
	}
	// The first wait is short again.
	s.refuse = unix.ENOEXEC
	must(t, Simulation{s.host}.Unload())
	if r := s.looks(a, 1); said(r) != "cloud LoadFailed" {
		t.Errorf("%+v", r)
	}
	s.refuse = nil
	s.now = s.now.Add(retry)
	if r := s.looks(a, 1); said(r) != "cloud ready" {
		t.Errorf("%+v", r)
	}

	must(t, os.WriteFile(s.record, []byte("x"), 0o644))
	if r := s.looks(s.agent(), 1); said(r) != "native ready Host" { // the module is the payload's
		t.Errorf("a damaged record: %+v", r)
	}
	must(t, os.RemoveAll(s.host.Join("/proc")))
	if r := s.looks(s.agent(), 1); said(r) != " Unknown" {
		t.Errorf("a host that cannot be read: %+v", r)
	}
}

// TestFilesBeforeUnload: a host whose files cannot be written keeps the driver that it has.
// Old files that cannot be removed are reported, and the driver is used.
func TestFilesBeforeUnload(t *testing.T) {
	s := newScene(t, "4.0.0")
	s.looks(s.agent(), 1)
	s.payload = collected(t, image(t, "5.0.0", nil))
	p, err := Read(s.payload)
	must(t, err)
	must(t, os.Remove(filepath.Join(s.payload, "opt/mxdriver/bin/mx-smi"))) // the payload cannot be copied
	must(t, unix.Mkfifo(filepath.Join(s.payload, "opt/mxdriver/bin/mx-smi"), 0o644))
	a := s.agent()
	a.payload = &p
	if r := s.looks(a, 3); said(r) != "cloud ready FilesFailed" || s.unloads > 0 || !strings.Contains(r.Message, "driver 4.0.0 stays") {
		t.Errorf("files that cannot be written: %+v, %d unloads", r, s.unloads)
	}
	s.check("4.0.0")
}

// TestUnreadPayload reads a payload again that could not be read, and reports before it reads
// one.
func TestUnreadPayload(t *testing.T) {
	s := newScene(t, "4.0.0")
	payload := s.payload
	s.payload = filepath.Join(t.TempDir(), "none")
	a := s.agent()
	if r := s.looks(a, 1); said(r) != "cloud BadPayload" {
		t.Errorf("%+v", r)
	}
	a.Payload = payload
	ended, end := context.WithCancel(t.Context())
	end()
	s.reports = nil
	if !a.Run(ended) {
		t.Errorf("%+v", s.reports)
	}
	if first := s.reports[0]; said(first) != "cloud Loading" || !strings.Contains(first.Message, "is being read") {
		t.Errorf("the first report: %+v", first)
	}
	s.reports = nil
	s.agent().Run(ended)
	if len(s.reports) != 1 {
		t.Errorf("of a driver that is loaded: %+v", s.reports)
	}
}

func TestOldFilesStay(t *testing.T) {
	needs.Root(t, "to mount")
	s := newScene(t, "4.0.0")
	old := s.host.Join("/opt/mxdriver-0123456789abcdef")
	put(t, old, "x", "x")
	must(t, unix.Mount("none", old, "tmpfs", 0, "")) // which cannot be removed
	t.Cleanup(func() { unix.Unmount(old, 0) })
	if r := s.looks(s.agent(), 1); said(r) != "cloud ready FilesFailed" || !strings.Contains(r.Message, "remove the files of an old driver") {
		t.Errorf("%+v", r)
	}
}

// Use sets the driver's count.
func (s Simulation) Use(users int) error {
	return os.WriteFile(s.Host.Join(moduleDir+"/refcnt"), []byte(strconv.Itoa(users)+"\n"), 0o644)
}
