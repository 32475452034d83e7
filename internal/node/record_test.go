// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestRecordVerdicts: a recorded verdict that the driver's own files share is cleared by them;
// that of the vendor's software alone is not.
func TestRecordVerdicts(t *testing.T) {
	n, tree := simtest.Host(t, "c500-8")
	at3 := simtest.LayoutNode(t, tree, n.GPUs[3])
	root := simtest.Write(t, tree)
	at := node.Selector{Root: root.Dir()}
	active := func(number string) {
		testfile.Write(t, root.Join(at3+"active"), number+"\n", 0o644)
	}
	healthy := func(when string, want bool) {
		t.Helper()
		got, err := at.Load(t.Context())
		if err != nil || got.GPUs[3].Healthy != want {
			t.Errorf("%s: healthy is %v, %v; want %v", when, got.GPUs[3].Healthy, err, want)
		}
	}
	active("0")
	healthy("inactive, no record", false)
	record, err := at.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Record(root, record); err != nil {
		t.Fatal(err)
	}
	if text, err := root.ReadFile(node.RecordPath); err != nil || !strings.Contains(string(text), `"inactive"`) {
		t.Errorf("the record does not say whose verdict it is: %v\n%s", err, text)
	}
	healthy("still inactive", false)
	active("1")
	healthy("active again", true)
	if err := node.Record(root, record); err != nil { // now the driver does not share the verdict
		t.Fatal(err)
	}
	healthy("unhealthy by the vendor's software", false)
}

// TestRecordVersions: a record of a program of the same apiVersion may have more fields; one of
// another version is not used, and the warning says how to write it again.
func TestRecordVersions(t *testing.T) {
	n, tree := simtest.Host(t, "c500-8")
	root := simtest.Write(t, tree)
	if err := node.Record(root, n); err != nil {
		t.Fatal(err)
	}
	written, err := root.ReadFile(node.RecordPath)
	if err != nil {
		t.Fatal(err)
	}
	const why = `node.json: invalid node: it has version "metax-ctk/v2", which this program does not know: ` +
		`upgrade this program (metax-ctk version); write it again: sudo metax-ctk cdi generate`
	for text, want := range map[string]bool{
		`"apiVersion": "metax-ctk/v1", "more": {"a": 1}`: false,
		`"apiVersion": "metax-ctk/v2"`:                   true,
	} {
		record := strings.Replace(string(written), `"apiVersion": "metax-ctk/v1"`, text, 1)
		testfile.Write(t, root.Join(node.RecordPath), record, 0o644)
		got, err := node.Selector{Root: root.Dir()}.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.HasSuffix(w, why) }) != want {
			t.Errorf("%s: the warnings are %q", text, got.Warnings)
		}
		if hasSerial := got.GPUs[0].Serial != ""; hasSerial == want {
			t.Errorf("%s: what only the record knows is used: %v", text, hasSerial)
		}
	}
}
