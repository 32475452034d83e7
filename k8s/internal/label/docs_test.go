// SPDX-License-Identifier: Apache-2.0

package label

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

var row = regexp.MustCompile("(?m)^\\| `([a-z]+\\.[a-z.]+)` \\|")

// documented returns the labels in the table of a page.
func documented(t *testing.T, page string) (names []string) {
	t.Helper()
	text := testfile.Read(t, "../../../docs/"+page)
	for _, m := range row.FindAllSubmatch(text, -1) {
		names = append(names, protocol.LabelPrefix+string(m[1]))
	}
	return names
}

// TestPages compares the tables of both pages. TestGolden compares them with the labels.
func TestPages(t *testing.T) {
	if diff := cmp.Diff(documented(t, "kubernetes-labels.md"), documented(t, "zh/kubernetes-labels.md")); diff != "" {
		t.Errorf("(-English +Chinese):\n%s", diff)
	}
}
