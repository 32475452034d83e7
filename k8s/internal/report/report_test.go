// SPDX-License-Identifier: Apache-2.0

package report

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// root is a host with reports as files.
func root(t *testing.T, files map[string]string) *hostfs.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, Dir, name)
		testfile.Write(t, name, text, 0o644)
	}
	host := simtest.Root(t, dir)
	return host
}

// TestWayOfAReport follows a report from the agent to the labels and the annotation of the
// Node, and to its end.
func TestWayOfAReport(t *testing.T) {
	host := root(t, nil)
	dir := host.Join(Dir)
	want := map[string]Report{
		Driver:  {Reason: "InUse", Message: "pod a/b uses\ufffd/dev/mxcd", Version: "3.4.4", Mode: "cloud", Pod: "1-a"},
		Runtime: {Ready: true, Reason: "Host"},
	}
	for component, r := range map[string]Report{Driver: {Reason: "InUse", Message: "pod a/b uses\n/host/dev/mxcd", Version: "3.4.4", Mode: "cloud", Pod: "1-a"}, Runtime: want[Runtime]} {
		for i, changes := range []bool{true, false} {
			if changed, err := Write(dir, component, r); err != nil || changed != changes {
				t.Errorf("write %d of %s: changed is %t: %v", i+1, component, changed, err)
			}
		}
	}
	got, warnings := Read(host)
	if d := cmp.Diff(want, got) + cmp.Diff(want, Parse(Print(got))); d != "" || len(warnings) > 0 {
		t.Errorf("%v %s", warnings, d)
	}
	labels := map[string]string{"metax-tech.com/driver.ready": "false", "metax-tech.com/driver.reason": "InUse", "metax-tech.com/runtime.ready": "true"}
	if d := cmp.Diff(labels, Labels(got)); d != "" {
		t.Error(d)
	}
	for component := range want {
		if err := Remove(dir, component); err != nil {
			t.Error(err)
		}
	}
	if got, warnings := Read(host); len(got) > 0 || len(warnings) > 0 || Print(got) != "" {
		t.Errorf("%v %v", got, warnings)
	}
	if err := Remove(dir, Driver); err != nil {
		t.Errorf("remove what is not there: %v", err)
	}
}

// TestBadReport: what cannot be read is a component that is not ready.
func TestBadReport(t *testing.T) {
	const start = `{"apiVersion": "metax-ctk/v1", "kind": "ComponentReport", "ready": true`
	for text, want := range map[string]string{
		"":              "unexpected end of JSON",
		`{"ready": tru`: "invalid character",
		`{"apiVersion": "v1", "kind": "Secret", "ready": true}`: `it is a "Secret" of "v1"`,
		strings.Replace(start, "v1", "v2", 1) + "}":             `it has version "metax-ctk/v2", which this program does not know; one version for all: helm upgrade`,
		start + `, "reason": "a b"}`:                            `the reason "a b" is not one word`,
		start + `, "version": "1 2"}`:                           `the version "1 2"`,
		strings.Repeat(" ", hostfs.MaxFile+1):                   "over ",
	} {
		got, warnings := Read(root(t, map[string]string{"driver.json": text, "other.json": start + "}"}))
		r := got[Driver]
		if len(got) != 1 || r.Ready || r.Reason != "BadReport" || !strings.Contains(r.Message, want) || len(warnings) != 1 || !strings.Contains(warnings[0], want) {
			t.Errorf("%.60q: %v %q", text, got, warnings)
		}
	}
}

// TestGrownReport: a report of a later version may have more fields.
func TestGrownReport(t *testing.T) {
	got, warnings := Read(root(t, map[string]string{"driver.json": `{"apiVersion": "metax-ctk/v1", "kind": "ComponentReport", "ready": true, "more": {"a": 1}}`}))
	if d := cmp.Diff(map[string]Report{Driver: {Ready: true}}, got); d != "" || len(warnings) > 0 {
		t.Errorf("%q %s", warnings, d)
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, test := range []struct {
		component string
		Report
		want string
	}{
		{"gpu", Report{}, `"gpu" is not a component: want one of runtime, driver, maca, vf, vfio`},
		{"../driver", Report{}, `"../driver" is not a component`},
		{Driver, Report{Reason: "no-driver"}, "is not one word"},
		{Driver, Report{Version: "-"}, `the version "-"`},
		{Driver, Report{Pod: "a b"}, `the pod "a b"`},
		{Driver, Report{Mode: "own"}, `the mode "own"`},
		{MACA, Report{Mode: "cloud"}, `the mode "cloud"`},
	} {
		if _, err := Write(t.TempDir(), test.component, test.Report); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.component, err)
		}
	}
}

// FuzzParse: an annotation of a stranger is read without a panic, and what is taken of it is
// taken again.
func FuzzParse(f *testing.F) {
	f.Add(`{"driver": {"ready": false, "reason": "InUse", "message": "x\ny"}, "gpu": {}, "vf": {"reason": "a b"}}`)
	f.Add(`{"maca": {"message": "` + strings.Repeat("é", longest) + `"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		first := Parse(text)
		again := Parse(Print(first))
		if len(first) != len(again) || cmp.Diff(Labels(first), Labels(again)) != "" {
			t.Errorf("%q: %v and then %v", text, first, again)
		}
	})
}
