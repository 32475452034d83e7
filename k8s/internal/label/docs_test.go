package label

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// TestPages: the tables of both pages have all labels, in the order of Names.
func TestPages(t *testing.T) {
	for _, page := range []string{"kubernetes-labels.md", "zh/kubernetes-labels.md"} {
		text, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+\\.[a-z.]+)` \\|").FindAllSubmatch(text, -1) {
			rows = append(rows, protocol.LabelPrefix+string(m[1]))
		}
		if diff := cmp.Diff(Names(), rows); diff != "" {
			t.Errorf("%s: %s", page, diff)
		}
	}
}
