// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// brokenNode is a node with one thing wrong, and the one finding that this has to
// give. DIR stands for the host's root, BIN for the toolkit's programs.
type brokenNode struct {
	check    string
	name     string // distinguishes several of one check
	severity Severity
	what     string // a part of it
	fix      string
	node     string // "c500-8" if empty
	// tree breaks the host before it is written, host after that.
	tree func(b *bench)
	host func(b *bench)
}

const (
	sysfs0 = "sys/devices/pci0000:0a/0000:0a:03.0/0000:0c:00.0/0000:0d:00.0/0000:0e:00.0"
	bdf0   = "0000:0e:00.0"
)

// brokenNodes are all of them.
var brokenNodes = slices.Concat(brokenDrivers, brokenSpecs, brokenEngines, brokenHosts)

// safeNodes are those that --fix fixes.
var safeNodes = []string{
	"char-links", "spec-dirs", "spec-present", "spec-readable", "spec-drift", "spec-drift elsewhere", "record", "record early",
	"record-drift", "record-drift unknown", "lease-lost", "lease-over", "lease-dir",
}

// prose matches a fix with a line that begins with a verb of English and is not a comment:
// sh -n accepts most of them.
var prose = regexp.MustCompile(`(?m)^(add|choose|edit|install|move|reinstall|use|write) |^[^#\n]*(, and |, or |, then:)`)

// TestBroken checks that each problem leads to exactly the finding that is meant for
// it.
func TestBroken(t *testing.T) {
	for n, tc := range brokenNodes {
		if !some(n) {
			continue
		}
		name := strings.TrimSuffix(tc.check+" "+tc.name, " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := tc.node
			if node == "" {
				node = "c500-8"
			}
			b := newBench(t, node)
			if tc.tree != nil {
				tc.tree(b)
			}
			b.write()
			if tc.host != nil {
				tc.host(b)
			}
			all := b.findings()
			var got []string
			for _, f := range all {
				got = append(got, fmt.Sprintf("%s %s", f.Severity, f.Check))
			}
			if d := cmp.Diff([]string{fmt.Sprintf("%s %s", tc.severity, tc.check)}, got); d != "" {
				t.Fatalf("(-want +got):\n%s%v", d, all)
			}
			place := strings.NewReplacer("DIR", b.dir, "BIN", filepath.Dir(b.c.Self))
			if want := place.Replace(tc.what); !strings.Contains(all[0].What, want) {
				t.Errorf("what: %s\nwant %s", all[0].What, want)
			}
			if d := cmp.Diff(place.Replace(tc.fix), all[0].Fix); d != "" {
				t.Errorf("fix (-want +got):\n%s", d)
			}
			if out, err := exec.Command("sh", "-n", "-c", all[0].Fix).CombinedOutput(); err != nil || prose.MatchString(all[0].Fix) {
				t.Errorf("fix is not for a shell: %s\n%s", all[0].Fix, out)
			}
			if all[0].Safe != slices.Contains(safeNodes, name) {
				t.Errorf("safe is %v", all[0].Safe)
			}
			if all[0].Why == "" {
				t.Error("it does not say why")
			}
		})
	}
}

// TestEveryCheckIsBroken: every check finds something on some node, and no ID occurs
// twice.
func TestEveryCheckIsBroken(t *testing.T) {
	seen := map[string]bool{}
	for _, tc := range brokenNodes {
		seen[tc.check] = true
	}
	ids := map[string]bool{}
	for _, c := range Checks() {
		if !seen[c.ID] {
			t.Errorf("%s has no broken node", c.ID)
		}
		if ids[c.ID] || c.Title == "" {
			t.Errorf("%s stands twice, or has no title", c.ID)
		}
		ids[c.ID] = true
	}
	if len(ids) < 40 {
		t.Errorf("only %d checks", len(ids))
	}
}
