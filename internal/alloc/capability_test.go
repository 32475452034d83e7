package alloc

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

func TestCapability(t *testing.T) {
	p := New(named(t, "two quads"))
	for _, c := range []struct {
		free []int
		want []Count
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, []Count{{topology.MX, 8, 0}, {topology.MX, 4, 2}, {topology.MX, 2, 4}}},
		{[]int{6, 0, 1, 4, 5}, []Count{{topology.MX, 4, 0}, {topology.MX, 2, 2}}},
		{[]int{3}, []Count{}},
		{nil, []Count{}},
	} {
		got, err := p.Capability(c.free)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got):\n%s", c.free, err, diff)
		}
	}
	var argument *ArgumentError
	if _, err := p.Capability([]int{8}); !errors.As(err, &argument) {
		t.Errorf("a GPU that is not there: %v", err)
	}
}
