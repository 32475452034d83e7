// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestPages: the tables of both pages have all metrics with their labels; the English one also
// their help.
func TestPages(t *testing.T) {
	for _, page := range []struct{ path, gpu, user, comma string }{
		{"kubernetes-metrics.md", "GPU", "user", ", "},
		{"zh/kubernetes-metrics.md", "GPU", "使用者", "、"},
	} {
		text := testfile.Text(t, "../../../../docs/"+page.path)
		var want, got []string
		for _, f := range Families() {
			var labels []string
			for i, l := range f.Labels {
				switch {
				case i == 0 && l == "gpu":
					labels = append(labels, page.gpu)
				case l == "namespace":
					labels = append(labels, page.user)
				case l == "uuid", l == "bdf", slices.Contains(gpuLabels, l) && slices.Contains(f.Labels, "pod"):
				default:
					labels = append(labels, "`"+l+"`")
				}
			}
			row := fmt.Sprintf("| `%s` | %s |", f.Name, strings.Join(labels, page.comma))
			if page.comma == ", " {
				row += " " + f.Help + " |"
			}
			want = append(want, strings.ReplaceAll(row, "|  |", "| |"))
		}
		for _, row := range regexp.MustCompile("(?m)^\\| `metax_.*$").FindAllString(text, -1) {
			if strings.Contains(row, "metax_gpu_device_") { // of another program
				continue
			}
			if page.comma != ", " {
				row = strings.Join(strings.SplitAfter(row, "|")[:3], "")
			}
			got = append(got, row)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", page.path, diff)
		}
	}
}
