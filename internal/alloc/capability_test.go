package alloc

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

func TestCapability(t *testing.T) {
	p := New(alloctest.Named(t, "two quads"))
	for _, c := range []struct {
		free []int
		want []key.Count
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, []key.Count{{Class: topology.MX, Size: 8, Sets: 0}, {Class: topology.MX, Size: 4, Sets: 2}, {Class: topology.MX, Size: 2, Sets: 4}}},
		{[]int{6, 0, 1, 4, 5}, []key.Count{{Class: topology.MX, Size: 4, Sets: 0}, {Class: topology.MX, Size: 2, Sets: 2}}},
		{[]int{3}, []key.Count{}},
		{nil, []key.Count{}},
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
