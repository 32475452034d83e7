// SPDX-License-Identifier: Apache-2.0

package maca_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

func version(text string) sim.File { return sim.File{Data: "Version:" + text + "\n"} }

// several is a host with three versions, one of which is linked.
func several() sim.Tree {
	tree := sim.Tree{
		"opt/maca":                      sim.Link("/opt/maca-3.3.0.15"),
		"opt/maca-3.3.0.15/Version.txt": version("3.3.0.15"),
		"opt/maca-2.32/Version.txt":     version("2.32.0.6"),
		"opt/maca-2":                    sim.Link("maca-2.32"),
		"opt/maca-3.8/Version.txt":      version("3.8.0.3-c600u"),
		"opt/maca-ai/Version.txt":       version("1"),
		"opt/mxdriver/bin/mx-smi":       sim.File{},
		"opt/mxn100/lib/libmxsml.so":    sim.File{Data: "x"},
	}
	for _, v := range []string{"3.3.0.15", "2.32", "3.8"} {
		tree["opt/maca-"+v+"/lib/libof"+v+".so.1"] = lib{soname: "libof" + v + ".so.1"}.file()
	}
	return tree
}

func TestList(t *testing.T) {
	got := maca.List(simtest.Write(t, several()), "")
	want := maca.Listing{Installs: []maca.Install{
		{Kind: maca.KindMACA, Path: "/opt/maca", Dir: "/opt/maca-3.3.0.15", Names: []string{"/opt/maca", "/opt/maca-3.3.0.15"}, Version: "3.3.0.15", Default: true},
		{Kind: maca.KindMACA, Path: "/opt/maca-2.32", Dir: "/opt/maca-2.32", Names: []string{"/opt/maca-2.32", "/opt/maca-2"}, Version: "2.32.0.6"},
		{Kind: maca.KindMACA, Path: "/opt/maca-3.8", Dir: "/opt/maca-3.8", Names: []string{"/opt/maca-3.8"}, Version: "3.8.0.3-c600u"},
		{Kind: maca.KindDriver, Path: "/opt/mxdriver", Dir: "/opt/mxdriver", Names: []string{"/opt/mxdriver"}},
		{Kind: maca.KindN100, Path: "/opt/mxn100", Dir: "/opt/mxn100", Names: []string{"/opt/mxn100"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestListEnvironment: MACA_PATH is used only if it is safe to mount.
func TestListEnvironment(t *testing.T) {
	tree := several()
	for _, dir := range []string{"data/maca-4", "usr/local/maca", "usr/lib/maca", "tmp/maca", "opt", "opt/vendor/maca", "srv/a:b", "home"} {
		tree[dir+"/Version.txt"] = version("4")
	}
	tree["data/link"] = sim.Link("maca-4")
	tree["srv/open/Version.txt"] = version("4")
	tree["srv/open"] = sim.Dir{Perm: 0o777}
	tree["Version.txt"] = version("4")
	h := simtest.Write(t, tree)
	for env, want := range map[string]string{ // a part of the doubt, or "warning: " and a part of that
		"/data/maca-4":        "",
		"/usr/local/maca":     "",
		"/opt/vendor/maca":    "",
		"/data/link":          "/data/link leads to /data/maca-4; use that path",
		"/usr/lib/maca":       "is in /usr, and a container has its own /usr",
		"/tmp/maca":           "is in /tmp, and a container has its own /tmp",
		"/opt":                "/opt holds more than MXMACA",
		"/home":               "/home holds more than MXMACA",
		"/":                   "/ holds more than MXMACA",
		"/srv/a:b":            `the name "a:b" in its path`,
		"/srv/open":           fmt.Sprintf("others than root may write to /srv/open (owner %d, mode 0777)", os.Getuid()),
		"/data":               "warning: /data leads to /data, which is not in /opt and has no version",
		"/none":               "warning: /none does not lead to it: no such file",
		"maca":                `warning: MACA_PATH is ignored: "maca" is not a clean absolute path`,
		"/opt/../data/maca-4": "warning: MACA_PATH is ignored",
		"/opt/maca":           "known",
		"/opt/maca-2.32":      "known",
	} {
		got := maca.List(h, env)
		if warning, ok := strings.CutPrefix(want, "warning: "); ok {
			if len(got.MACA()) != 3 || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], warning) {
				t.Errorf("%s: %d installations, warnings %q", env, len(got.MACA()), got.Warnings)
			}
			continue
		}
		if want == "known" {
			if len(got.MACA()) != 3 || len(got.Warnings) != 0 {
				t.Errorf("%s: %+v", env, got)
			}
			continue
		}
		if len(got.MACA()) != 4 {
			t.Errorf("%s: %+v", env, got)
			continue
		}
		last := got.MACA()[3]
		if last.Path != env || (want == "") != (last.Doubt == "") || !strings.Contains(last.Doubt, want) {
			t.Errorf("%s: %+v, want the doubt %q", env, last, want)
		}
	}
}

func TestFindVersion(t *testing.T) {
	tree := several()
	tree["opt/maca-copy/Version.txt"] = version("9")
	h := simtest.Write(t, tree)
	for asked, want := range map[string]edits.Software{
		"":              {Version: "3.3.0.15", Dir: "/opt/maca-3.3.0.15", Default: true, Links: []edits.LibraryLink{{Name: "libof3.3.0.15.so", Target: "/opt/maca/lib/libof3.3.0.15.so.1"}}},
		"3.3.0.15":      {Version: "3.3.0.15", Dir: "/opt/maca-3.3.0.15", Default: true, Links: []edits.LibraryLink{{Name: "libof3.3.0.15.so", Target: "/opt/maca/lib/libof3.3.0.15.so.1"}}},
		"2":             {Version: "2.32.0.6", Dir: "/opt/maca-2.32", Links: []edits.LibraryLink{{Name: "libof2.32.so", Target: "/opt/maca/lib/libof2.32.so.1"}}},
		"2.32.0.6":      {Version: "2.32.0.6", Dir: "/opt/maca-2.32", Links: []edits.LibraryLink{{Name: "libof2.32.so", Target: "/opt/maca/lib/libof2.32.so.1"}}},
		"3.8.0.3-c600u": {Version: "3.8.0.3-c600u", Dir: "/opt/maca-3.8", Links: []edits.LibraryLink{{Name: "libof3.8.so", Target: "/opt/maca/lib/libof3.8.so.1"}}},
	} {
		want.Path, want.Driver, want.Libraries = maca.Path, "/opt/mxdriver", []string{"/opt/maca/lib"}
		want.Env = []string{"MACA_PATH=/opt/maca"}
		got, err := find(h, asked)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", asked, err, diff)
		}
	}
	for asked, says := range map[string]string{
		"3.3": `"3.3"; installed: 3.3.0.15 (/opt/maca-3.3.0.15), 2.32.0.6 (/opt/maca-2.32), 3.8.0.3-c600u (/opt/maca-3.8)`,
		"9":   `"9"; installed:`, "copy": `"copy"; installed:`, "../maca-2": `"../maca-2"; installed:`, "\x1b": `"\x1b"; installed:`,
		"n100": "give it as --device metax-tech.com/maca=n100",
	} {
		if got, err := find(h, asked); !errors.Is(err, maca.ErrVersion) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v", asked, got, err)
		}
	}
	tree["opt/maca-3.9/Version.txt"] = version("2.32.0.6")
	if got, err := find(simtest.Write(t, tree), "2.32.0.6"); !errors.Is(err, maca.ErrVersion) || !strings.Contains(err.Error(), "/opt/maca-2.32), 2.32.0.6 (/opt/maca-3.9)") {
		t.Errorf("two of one version: %+v, %v", got, err)
	}
	delete(tree, "opt/mxn100/lib/libmxsml.so")
	if _, err := find(simtest.Write(t, tree), "n100"); !errors.Is(err, maca.ErrVersion) || !strings.Contains(err.Error(), `"n100"; installed:`) {
		t.Errorf("n100 without its software: %v", err)
	}
	delete(tree, "opt/maca")
	if _, err := find(simtest.Write(t, tree), ""); !errors.Is(err, maca.ErrNone) || !strings.Contains(err.Error(), "installed: 2.32.0.6") {
		t.Errorf("without a default: %v", err)
	}
}

func TestAll(t *testing.T) {
	tree := several()
	tree["opt/maca-4"] = sim.Link("none")
	tree["opt/maca-5"] = sim.Link("/usr/maca")
	tree["usr/maca/Version.txt"] = version("5")
	all, warnings, err := maca.All(simtest.Write(t, tree))
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, s := range all {
		dirs = append(dirs, s.Dir)
	}
	if diff := cmp.Diff([]string{"/opt/maca-3.3.0.15", "/opt/maca-2.32", "/opt/maca-3.8", "/opt/mxn100"}, dirs); diff != "" {
		t.Error(diff)
	}
	n100 := edits.Software{
		Path: "/opt/mxn100", Dir: "/opt/mxn100", Version: "n100", Driver: "/opt/mxdriver", Libraries: []string{"/opt/mxn100/lib"},
	}
	if diff := cmp.Diff(n100, all[3]); diff != "" {
		t.Errorf("the N100's software:\n%s", diff)
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], "no MXMACA: /opt/maca-4 does not lead to it") || !strings.Contains(warnings[1], "/opt/maca-5 leads to /usr/maca, which is not in /opt: /usr/maca is in /usr") {
		t.Errorf("warnings are %q", warnings)
	}
	if all, _, err := maca.All(simtest.Write(t, sim.Tree{})); !errors.Is(err, maca.ErrNone) {
		t.Errorf("nothing: %v, %v", all, err)
	}
}

func TestPrograms(t *testing.T) {
	tree := several()
	bin := "opt/maca-3.3.0.15/bin/"
	run := sim.File{Perm: 0o755}
	tree[bin+"mxcc"], tree[bin+"macainfo"] = run, run
	tree[bin+"linked"] = sim.Link("../tools/real")
	tree["opt/maca-3.3.0.15/tools/real"] = run
	tree["usr/bin/sh"] = run
	for name, e := range map[string]sim.Entry{
		"text": sim.File{}, "directory": sim.Dir{}, "out": sim.Link("/usr/bin/sh"), "none": sim.Link("x"), "-rf": run, "a:b": run, ".hidden": run,
		"other": sim.Link("/opt/maca-2.32/bin/x"),
	} {
		tree[bin+name] = e
	}
	tree["opt/maca-2.32/bin/x"] = run
	tree["opt/maca-3.3.0.15/ucx/bin/ucx_info"] = run
	got, err := find(simtest.Write(t, tree), "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/opt/maca/bin/linked", "/opt/maca/bin/macainfo", "/opt/maca/bin/mxcc", "/opt/maca/ucx/bin/ucx_info"}, got.Programs); diff != "" {
		t.Error(diff)
	}
}

// TestFindUnreadable: files that only root may read are a warning for other users, not
// an error.
func TestFindUnreadable(t *testing.T) {
	h := simtest.Write(t, several())
	if err := os.Chmod(filepath.Join(h.Dir(), "opt/maca-3.3.0.15/lib/libof3.3.0.15.so.1"), 0); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{h.Dir(), filepath.Dir(h.Dir())} { // of the test: other users need access to it
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var got edits.Software
	var err error
	var asked sync.WaitGroup
	asked.Go(func() {
		if os.Geteuid() == 0 {
			// Root reads everything, so the test reads as another user. The thread
			// keeps that user; it ends with the goroutine, which never unlocks it.
			runtime.LockOSThread()
			if _, err = unix.SetfsuidRetUid(65534); err != nil {
				return
			}
		}
		got, err = find(h, "")
	})
	asked.Wait()
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "permission denied") {
		t.Errorf("%+v, %v", got, err)
	}
}

// find returns what a container needs of the installation of a version.
func find(host *hostfs.Root, version string) (edits.Software, error) {
	i, err := maca.List(host, "").Choose(version)
	if err != nil {
		return edits.Software{}, err
	}
	return i.Software(host)
}
