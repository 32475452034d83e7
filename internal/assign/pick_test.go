package assign

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// TestUnmet holds when a pick fails because GPUs are in use.
func TestUnmet(t *testing.T) {
	node := simulated(t, "c500-8", 7)
	holders := []usage.Holder{use(node, "", 0, 1)}
	for name, tc := range map[string]struct {
		r       alloc.Request
		holders []usage.Holder
		want    string
	}{
		"enough":           {alloc.Request{N: 5}, holders, "<nil>"},
		"too few":          {alloc.Request{N: 6}, holders, "cannot get 6 GPUs: only 5 of 7 are free (metax-ctk ps)"},
		"required, in use": {alloc.Request{N: 2, Required: []int{1, 2}}, holders, "GPU 1 is in use by lease 6f1d2c9a04be (metax-ctk ps)"},
		"nobody uses any":  {alloc.Request{N: 9}, nil, "<nil>"},
	} {
		err := Unmet(node, tc.r, tc.holders)
		if got := fmt.Sprint(err); got != tc.want || err != nil && !errors.Is(err, lease.ErrBusy) {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	if d := cmp.Diff([]int{2, 3, 4, 5, 6}, Free(node, holders)); d != "" {
		t.Error(d)
	}
}
