// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// look lets the agent look once. seen are the versions that the specs had at each writing.
func (h host) look(t *testing.T, p Policy) (r report.Report, seen []string) {
	t.Helper()
	a := Agent{Opt: h.opt, Proc: h.proc, Reports: h.reports, Policy: p, Log: slog.New(slog.DiscardHandler), Specs: func(context.Context) ([]refresh.Written, error) {
		root, err := hostfs.New(filepath.Dir(h.opt))
		if err != nil {
			return nil, err
		}
		all, _, _ := maca.All(root)
		var line []string
		for _, s := range all {
			if s.Default {
				s.Version += "*"
			}
			line = append(line, s.Version)
		}
		seen = append(seen, strings.Join(line, " "))
		return nil, nil
	}}
	return a.look(t.Context()), seen
}

func (h host) prepare(t *testing.T, images ...string) {
	t.Helper()
	if err := Prepare(h.opt, h.reports, images); err != nil {
		t.Fatal(err)
	}
}

// mount lets a process of the host have a version mounted.
func (h host) mount(t *testing.T, pid, version string) {
	t.Helper()
	write(t, h.proc, pid+"/mountinfo 36 35 98:0 /opt/maca-"+version+" /opt/maca-"+version+" ro,nosuid - ext4 /dev/sda ro\n")
}

func image(version string) []string {
	return []string{"opt/maca-" + version + "/Version.txt Version:" + version, "opt/maca -> /opt/maca-" + version, "opt/maca-" + version + "/lib/a.so " + version}
}

var never = Policy{Order: Never, Threshold: 5}

func TestAgent(t *testing.T) {
	h := newHost(t)
	h.prepare(t, "maca:0")
	var waiting report.Report
	root := simtest.Root(t, "/")
	if text, err := root.ReadFile(filepath.Join(h.reports, "maca.json")); err != nil || !strings.Contains(string(text), `"Pulling"`) {
		t.Errorf("%s %v %v", text, err, waiting)
	}
	h.image(t, "0", big, image("3.8.0.1")...)
	r, seen := h.look(t, never)
	if d := cmp.Diff(report.Report{Ready: true, Version: "3.8.0.1"}, r); d != "" {
		t.Error(d)
	}
	// Engines know a version before the link leads to it.
	if d := cmp.Diff([]string{"3.8.0.1", "3.8.0.1*"}, seen); d != "" {
		t.Error(d)
	}
	before := files(t, h.opt)
	if r, _ := h.look(t, never); !r.Ready || cmp.Diff(before, files(t, h.opt)) != "" {
		t.Errorf("a second look: %+v", r)
	}

	// Another pod: two images, of which one is there.
	h.prepare(t, "maca:0", "maca:10")
	h.image(t, "10", big, image("3.8.0.1")...)
	h.image(t, "9", big, image("3.10.0.2")...)
	if r, seen := h.look(t, never); r.Version != "3.10.0.2" || !r.Ready || seen[1] != "3.10.0.2* 3.8.0.1" {
		t.Errorf("%+v %q", r, seen)
	}

	// The first image is bad: what was there stays, and containers get what they got.
	h.prepare(t, "maca:0")
	h.image(t, "0", big, append(image("3.11.0.1"), "opt/maca-3.11.0.1/lib/up -> ../../x")...)
	r, seen = h.look(t, Policy{Order: ByVersion, Threshold: 1})
	if r.Ready || r.Reason != BadPayload || !strings.Contains(r.Message, "image maca:0: the link lib/up of the payload does not stay inside") || seen[1] != "3.10.0.2*" {
		t.Errorf("%+v %q", r, seen)
	}
	if again, _ := h.look(t, never); again != r {
		t.Errorf("the next look reports %+v", again)
	}
	if _, err := os.Lstat(h.opt + "/maca-3.11.0.1"); err == nil {
		t.Error("it is installed")
	}
}

// TestHost leaves what the operator did not install as it is.
func TestHost(t *testing.T) {
	for what, test := range map[string]struct {
		host         []string
		ready        bool
		reason, want string
	}{
		"a directory":              {[]string{"maca/Version.txt Version:2"}, false, HostMACA, "is not a link"},
		"a link":                   {[]string{"maca -> /opt/maca-2", "maca-2/Version.txt Version:2"}, false, HostMACA, "leads to /opt/maca-2, which the operator did not install"},
		"a link to elsewhere":      {[]string{"maca -> /srv/maca"}, false, HostMACA, "leads to /srv/maca"},
		"a relative link":          {[]string{"maca -> maca-2", "maca-2/Version.txt Version:2"}, false, HostMACA, "leads to /opt/maca-2"},
		"a link to nothing":        {[]string{"maca -> /opt/maca-2"}, true, "", ""},
		"the same version":         {[]string{"maca -> maca-3.8.0.1", "maca-3.8.0.1/Version.txt Version:3.8.0.1"}, true, "", ""},
		"the version without link": {[]string{"maca-3.8.0.1/Version.txt Version:3.8.0.1"}, true, "", ""},
		"a file in the way":        {[]string{"maca-3.8.0.1 x"}, false, HostMACA, "is in the way"},
	} {
		t.Run(what, func(t *testing.T) {
			h := newHost(t)
			write(t, h.opt, test.host...)
			before := files(t, h.opt)
			h.prepare(t, "maca:0")
			h.image(t, "0", big, image("3.8.0.1")...)
			r, _ := h.look(t, never)
			if r.Ready != test.ready || r.Reason != test.reason || !strings.Contains(r.Message, test.want) {
				t.Errorf("%+v", r)
			}
			after := files(t, h.opt)
			for _, line := range before {
				if !strings.Contains(strings.Join(after, "\n"), line) && !test.ready {
					t.Errorf("%s is gone", line)
				}
			}
		})
	}
}

// TestClean removes versions of the operator's that nobody uses.
func TestClean(t *testing.T) {
	h := newHost(t)
	write(t, h.opt, "maca-2/Version.txt Version:2") // the host's own
	for _, version := range []string{"3.8", "3.9", "3.10", "3.11"} {
		h.prepare(t, "maca:0")
		h.image(t, "0", big, image(version)...)
		if r, _ := h.look(t, never); r.Version != version {
			t.Fatalf("%+v", r)
		}
	}
	h.mount(t, "17", "3.9")
	if _, seen := h.look(t, Policy{Order: ByVersion, Threshold: 2}); seen[1] != "3.11* 2 3.9" {
		t.Errorf("%q", seen)
	}
	if err := os.RemoveAll(h.proc + "/17"); err != nil {
		t.Fatal(err)
	}
	if _, seen := h.look(t, Policy{Order: ByTimestamp, Threshold: 1}); seen[1] != "3.11* 2" {
		t.Errorf("%q", seen)
	}
	for _, line := range files(t, h.opt+"/"+Dir) {
		if strings.Contains(line, "3.8") || strings.Contains(line, "3.9") || strings.Contains(line, "trash") || strings.Contains(line, "removed") {
			t.Errorf("%s is still there", line)
		}
	}
	if err := os.RemoveAll(h.proc); err != nil {
		t.Fatal(err)
	}
	h.prepare(t, "maca:0")
	h.image(t, "0", big, image("3.12")...)
	if r, seen := h.look(t, Policy{Order: ByVersion, Threshold: 1}); r.Ready || !strings.Contains(r.Message, "find the versions in use") || seen[1] != "3.12* 2 3.11" {
		t.Errorf("%+v %q", r, seen)
	}
}

// TestUsedMeanwhile has a container that gets a version while it is being removed: it stays,
// also after a kill, and where the processes of others are hidden.
func TestUsedMeanwhile(t *testing.T) {
	h := newHost(t)
	for _, version := range []string{"3.8", "3.9"} {
		h.prepare(t, "maca:0")
		h.image(t, "0", big, image(version)...)
		h.look(t, never)
	}
	a := Agent{Opt: h.opt, Proc: h.proc, Policy: Policy{Order: ByVersion, Threshold: 1}, Log: slog.New(slog.DiscardHandler), Specs: func(context.Context) ([]refresh.Written, error) {
		if _, err := os.Lstat(h.opt + "/maca-3.8"); err != nil {
			write(t, h.proc, "17/mountinfo 36 35 98:0 /opt/"+trashDir+"/maca-3.8 /opt/maca ro,nosuid - ext4 /dev/sda ro\n")
		}
		return nil, nil
	}}
	before := files(t, h.opt)
	if r := a.look(t.Context()); !r.Ready {
		t.Errorf("%+v", r)
	}
	if d := cmp.Diff(before, files(t, h.opt)); d != "" {
		t.Error(d)
	}
	root, err := os.OpenRoot(h.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	discard := func() {
		if err := (store{root}).moveToTrash("3.8"); err != nil {
			t.Fatal(err)
		}
	}
	discard()
	if err := os.Rename(h.proc+"/1", h.proc+"/hidden"); err != nil { // as with the option hidepid
		t.Fatal(err)
	}
	discarded := files(t, h.opt)
	if r, _ := h.look(t, never); r.Ready || !strings.Contains(r.Message, "find the versions in use: ") {
		t.Errorf("with hidden processes: %+v", r)
	}
	if d := cmp.Diff(discarded, files(t, h.opt)); d != "" {
		t.Error(d)
	}
	if err := os.Rename(h.proc+"/hidden", h.proc+"/1"); err != nil {
		t.Fatal(err)
	}
	h.look(t, never)
	if d := cmp.Diff(before, files(t, h.opt)); d != "" {
		t.Error(d)
	}

	// Installed again, while a container has the files of before.
	discard()
	write(t, h.opt, "maca-3.8/Version.txt Version:3.8")
	h.look(t, never)
	if _, err := os.Lstat(h.opt + "/" + trashDir + "/maca-3.8/lib/a.so"); err != nil {
		t.Error(err)
	}
}

// TestPrepareFails reports why there is no room for copies, and fails.
func TestPrepareFails(t *testing.T) {
	needs.Root(t, "to mount")
	for options, want := range map[string]string{"nr_inodes=1": NoSpace, "size=4k": Failed} {
		h := newHost(t)
		flags := uintptr(0)
		if want == Failed {
			flags = unix.MS_RDONLY
		}
		if err := unix.Mount("none", h.opt, "tmpfs", flags, options); err != nil {
			t.Fatal(err)
		}
		err := Prepare(h.opt, h.reports, []string{"maca:0"})
		if err := unix.Unmount(h.opt, 0); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(h.reports + "/maca.json")
		if err == nil || !strings.Contains(string(text), `"`+want+`"`) || !strings.Contains(string(text), "make room for copies of MXMACA in /opt") {
			t.Errorf("%s: %v: %s", options, err, text)
		}
	}
}

// TestKilled leaves what a killed agent left: what was moved away is removed, and a record of
// nothing.
func TestKilled(t *testing.T) {
	h := newHost(t)
	h.prepare(t, "maca:0")
	write(t, h.opt, Dir+"/trash/maca-3.1/lib/a x", Dir+"/removed/maca-3.1/lib/b x", Dir+"/maca-3.1.json {}", Dir+"/link -> /opt/maca-3.1")
	h.image(t, "0", big, image("3.8")...)
	if r, _ := h.look(t, never); !r.Ready {
		t.Errorf("%+v", r)
	}
	for _, line := range files(t, h.opt) {
		if strings.Contains(line, "3.1") {
			t.Errorf("%s is still there", line)
		}
	}
}

// TestRun ends with the context, and with it the report.
func TestRun(t *testing.T) {
	h := newHost(t)
	h.prepare(t, "maca:0")
	h.image(t, "0", big, image("3.8")...)
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	a := Agent{Opt: h.opt, Proc: h.proc, Reports: h.reports, Policy: never, Log: slog.New(slog.DiscardHandler), Specs: func(context.Context) ([]refresh.Written, error) {
		if looks++; looks == 2 { // before the link, and at the end
			cancel()
		}
		return nil, nil
	}}
	if err := a.Run(ctx, time.Hour); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(h.opt + "/maca"); err != nil {
		t.Error(err)
	}
	if names := files(t, h.reports); len(names) > 0 {
		t.Errorf("there is %q", names)
	}
}
